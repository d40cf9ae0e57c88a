import pytest

from jaxscope.analysis.targets.mesh import read_mesh, target_of
from jaxscope.analysis.targets.names import TargetNameError


def test_a_mesh_has_axes_and_specs_by_dimension() -> None:
    plan = read_mesh("data=2, model=4", ("x=data,None", "params['w']=*,data+model", "b=-"))
    assert plan.axes == (("data", 2), ("model", 4))
    assert plan.size == 8
    assert plan.specs == {
        "x": (("data",), ()),
        "params['w']": ((), ("data", "model")),
        "b": ((),),
    }


@pytest.mark.parametrize(
    ("axes", "specs", "said"),
    [
        ("data", (), "`data` is not a mesh; write data=2,model=2."),
        ("data=2,data=2", (), "is not a mesh"),
        ("data=0", (), "is not a mesh"),
        ("data=99999", (), "more than 4096 devices"),
        ("data=2", ("x",), "`x` is not a spec; write x=data,None."),
        ("data=2", ("x=rows",), "The spec of `x` has the axis `rows`, and the mesh has data."),
        ("data=2", ("x=data,data",), "has an axis twice"),
    ],
)
def test_other_texts_are_refused_with_the_way_to_write_them(
    axes: str, specs: tuple[str, ...], said: str
) -> None:
    with pytest.raises(TargetNameError, match=said):
        read_mesh(axes, specs)


@pytest.mark.parametrize(
    ("target", "axes", "name"),
    [
        ("tpu:v5e", "data=2,model=2", "tpu:v5e:2x2"),
        ("tpu:v4", "data=2,model=2", "tpu:v4"),
        ("tpu:v4", "data=8", "tpu:v4:2x2x2"),
        ("tpu:v5e", "data=6", "tpu:v5e:2x4"),
        ("gpu:h100", "data=6", "gpu:h100:6"),
        ("cpu", "data=3", "cpu:3"),
        ("tpu:v5e:4x4", "data=2", "tpu:v5e:4x4"),
    ],
)
def test_a_target_without_a_topology_has_as_many_devices_as_the_mesh(
    target: str, axes: str, name: str
) -> None:
    assert target_of(target, read_mesh(axes)).name == name


def test_a_mesh_beyond_the_usual_topologies_asks_for_one() -> None:
    with pytest.raises(TargetNameError, match="A mesh of 512 devices needs a topology"):
        target_of("tpu:v5e", read_mesh("data=512"))
