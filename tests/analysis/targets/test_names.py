import pytest

from jaxscope.analysis.targets.names import KINDS, TargetNameError, gpu_config, read_target


@pytest.mark.parametrize(
    ("text", "platform", "topology", "chips"),
    [
        ("tpu:v5e:2x2", "tpu", "2x2", 4),
        (" TPU:v4 ", "tpu", "2x2x1", 4),
        ("gpu:h100", "cuda", "1", 1),
        ("gpu:h100:8", "cuda", "8", 8),
        ("cpu", "cpu", "1", 1),
        ("cpu:4", "cpu", "4", 4),
    ],
)
def test_a_name_gives_platform_and_topology(
    text: str, platform: str, topology: str, chips: int
) -> None:
    target = read_target(text)
    assert (target.platform, target.topology, target.chips) == (platform, topology, chips)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpu:v9", "There is no target `tpu:v9`: choose `cpu`, `tpu:v4`"),
        ("tpu", "There is no target `tpu`"),
        ("", "There is no target ``"),
        ("tpu:v5e:2y2", "`2y2` is not a topology of tpu:v5e; write tpu:v5e:2x2."),
        ("tpu:v4:0x2", "write tpu:v4:2x2x1."),
        ("gpu:h100:2x2", "`2x2` is not a number of devices; write gpu:h100:4."),
        ("cpu:99999", "99999 is more than 4096 devices."),
    ],
)
def test_other_names_are_refused_with_the_way_to_write_them(text: str, said: str) -> None:
    with pytest.raises(TargetNameError, match=said.replace("(", r"\(").replace("`", "`")):
        read_target(text)


def test_the_config_of_a_gpu_has_its_memory_and_capability() -> None:
    text = gpu_config(KINDS["gpu:a100"])
    assert "cuda_compute_capability { major: 8 minor: 0 }" in text
    assert "device_memory_size: 85100068864" in text
    assert text.count("{") == text.count("}")
