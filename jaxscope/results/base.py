"""The base of all results: displays, exports, files."""

from __future__ import annotations

import contextlib
import gzip
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from jaxscope import files
from jaxscope.model import SchemaError, from_json, to_json
from jaxscope.model.indices import check_indices
from jaxscope.words import listed

if TYPE_CHECKING:
    import pandas as pd

    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html

S = TypeVar("S", bound="Saved")


class Result(ABC):
    """A result that is shown as text, Markdown and HTML."""

    noun: ClassVar[str]
    """Name of the result in a sentence."""

    @abstractmethod
    def summary(self) -> str:
        """The first line."""

    @abstractmethod
    def _document(self) -> Document:
        """The result for text and Markdown."""

    @abstractmethod
    def static_html(self) -> Html:
        """The result as HTML without script, as a saved notebook shows it."""

    def to_text(self, *, full: bool = False, width: int | None = None, color: bool = False) -> str:
        """The result as text for a terminal; `full` includes everything."""
        from jaxscope.view.base.terminal import text

        return text(self._document(), width, color, full=full)

    def to_markdown(self) -> str:
        """The result as Markdown, for an issue or a pull request."""
        from jaxscope.view.base.markdown import markdown

        return markdown(self._document())

    def __repr__(self) -> str:
        return f"<jaxscope.{type(self).__name__}: {self.summary()}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.to_text().rstrip("\n"))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.bundle()

    def bundle(self) -> dict[str, Any]:
        """The displays by MIME type. It never raises: a failed display must not spoil a cell."""
        found: dict[str, Any] = {}
        makers = {"text/plain": lambda: self.to_text(width=100), "text/html": self.static_html}
        for kind, make in makers.items():
            try:
                found[kind] = str(make())  # some front ends take no subclass of str
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                found.setdefault("text/plain", f"jaxscope could not draw the {self.noun} ({why}).")
        return found


class Saved(Result):
    """A result with its data, which can be saved and loaded."""

    mark: ClassVar[str]
    """A field that identifies its files."""
    record_type: ClassVar[type[Any]]

    @property
    @abstractmethod
    def record(self) -> Any:
        """The frozen data."""

    @classmethod
    def of_record(cls, record: Any) -> Self:
        """The result of a record read from a file."""
        return cast("Any", cls)(record)

    @abstractmethod
    def _page(self) -> str:
        """The result as one HTML file."""

    def to_html(self, path: str | Path) -> Path:
        """Write one complete offline page, which needs no network."""
        return files.write(path, self._page())

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data. `docs/` has the schemas of reports and compile logs."""
        return to_json(self.record)

    def save(self, path: str | Path) -> Path:
        """Write the JSON to `path`, gzipped if it ends in `.gz`; `jaxscope.load` reads it."""
        data = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()
        packed = Path(path).suffix == ".gz"
        return files.write(path, gzip.compress(data, mtime=0) if packed else data)


class Viewed(Saved):
    """A result that the viewer shows."""

    @abstractmethod
    def payload(self) -> dict[str, Any]:
        """The result as the viewer reads it, at most 150 kB."""

    @abstractmethod
    def _widget(self) -> Any: ...

    def widget(self) -> Any:
        """The viewer as a widget, for VS Code, Colab and layouts of ipywidgets. Needs anywidget.

        Raises ModuleNotFoundError without anywidget, and FileNotFoundError in a checkout in which
        the viewer is not built.
        """
        with needed("widget", f"The widget of a {self.noun}"):
            return self._widget()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from jaxscope.frontend.front_end import FrontEnd, front_end

        if front_end() in (FrontEnd.VSCODE, FrontEnd.COLAB):
            # If it fails, the HTML shows the same.
            with contextlib.suppress(Exception):
                return self.widget().bundle()
        return self.bundle()

    def bundle(self, *, viewer: bool = True) -> dict[str, Any]:
        """The displays by MIME type, with the viewer's own type where a front end may have it."""
        return self._bundle(viewer, self.payload)

    def _bundle(self, viewer: bool, payload: Callable[[], Any]) -> dict[str, Any]:
        from jaxscope.frontend.front_end import FrontEnd, front_end
        from jaxscope.view.bundle.payload import MIME

        found = Result.bundle(self)
        if viewer and front_end() is FrontEnd.JUPYTER:
            # Without it the HTML shows the same.
            with contextlib.suppress(Exception):
                found[MIME] = payload()
        return found


@contextlib.contextmanager
def needed(extra: str, what: str) -> Generator[None]:
    """Turn a failed import into a sentence on how to install the extra `extra`.

    Raises ModuleNotFoundError with that sentence; other exceptions pass through.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "jaxscope"):
            raise
        raise ModuleNotFoundError(
            f"{what} needs {package}, which is not installed: `pip install {package}`, or "
            f"`pip install jaxscope[{extra}]`.",
            name=package,
        ) from None


def data_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """The rows as a pandas DataFrame. Raises ModuleNotFoundError without pandas."""
    with needed("tables", "A data frame"):
        import pandas as pd
    return pd.DataFrame.from_records(rows, columns=list(columns))


def read(path: str | Path, kinds: Sequence[type[S]]) -> S:
    """The result that `save` wrote, of one of these kinds.

    Raises FileNotFoundError, and SchemaError for a file that is not of these kinds.
    """
    nouns = listed([kind.noun for kind in kinds], last="or")
    expected = f"{path} is not a jaxscope {nouns}"
    try:
        data = json.loads(files.read(path))
    except (ValueError, EOFError) as error:
        raise SchemaError(f"{expected}: {error}.") from None
    except RecursionError:
        raise SchemaError(f"{expected}: it is nested too deeply.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise SchemaError(f"{expected}: it names no schema.")
    kind = next((kind for kind in kinds if kind.mark in data), None)
    if kind is None:
        raise SchemaError(f"{expected}.")
    newest = kind.record_type.__dataclass_fields__["schema"].default
    if schema > newest:
        raise SchemaError(
            f"{path} has schema {schema} and this jaxscope reads up to {newest}; upgrade jaxscope."
        )
    record = from_json(kind.record_type, data)
    check_indices(record)
    return kind.of_record(record)
