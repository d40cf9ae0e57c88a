"""The key-value store of JAX's coordination service."""

from __future__ import annotations

from typing import Any


class JaxStore:
    """`exchange.Store` on a client of the coordination service; counts its operations."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.operations = 0

    def add(self, key: str, value: str) -> bool:
        self.operations += 1
        try:
            self._client.key_value_set(key, value)
        except Exception as error:
            if "ALREADY_EXISTS" in str(error):
                return False
            raise
        return True

    def put(self, key: str, value: str) -> None:
        self.operations += 1
        self._client.key_value_set(key, value, allow_overwrite=True)

    def get(self, key: str) -> str | None:
        self.operations += 1
        try:
            return self._client.key_value_try_get(key)
        except Exception as error:
            if "NOT_FOUND" in str(error):
                return None
            raise

    def count(self, key: str, by: int) -> int:
        self.operations += 1
        return int(self._client.key_value_increment(key, by))

    def wait(self, key: str, seconds: float) -> str | None:
        self.operations += 1
        try:
            return self._client.blocking_key_value_get(key, max(1, int(seconds * 1000)))
        except Exception as error:
            if "DEADLINE_EXCEEDED" in str(error) or "NOT_FOUND" in str(error):
                return None
            raise

    def remove(self, folder: str) -> None:
        self.operations += 1
        self._client.key_value_delete(folder)

    def folder(self, folder: str) -> list[str]:
        self.operations += 1
        return [value for _, value in self._client.key_value_dir_get(folder)]
