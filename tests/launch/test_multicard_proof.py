"""The proof of `jumar migrate --multi-card` on emulated cards: four of them come to the numbers of one.

The scripts of tests/migrate/multicard are migrated to NPU style with HCCL and started with `jumar launch`. Four ranks
with a quarter of the batch each must end with the numbers of one rank with the whole batch.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from jumar.emulate import env
from jumar.migrate.project import migrate, migrate_bytes
from jumar.migrate.settings import Settings, Style

SCRIPTS = Path(__file__).parents[1] / "migrate" / "multicard"
SLOW = ("vae_like", "trainer_class", "module_level", "gan_like", "imagenet_like", "language_model", "loader_elsewhere")
NAMES = ["mnist_like", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
TO_CARD: dict[str, list[tuple[bytes, bytes]]] = {
    "module_level": [(b"net(bx), by", b"net(bx.cuda()), by.cuda()")],
    "imagenet_like": [
        (b"criterion(model(images), target)", b"criterion(model(images.cuda()), target.cuda())"),
        (b"for images, target in val_loader:", b"for images, target in ((a.cuda(), b.cuda()) for a, b in val_loader):"),
    ],
    "language_model": [
        (b"RNNModel(7)", b"RNNModel(7).cuda()"),
        (b"weights_only=False)", b"weights_only=False, map_location='cuda:0')"),
        (b"hidden = model.init_hidden", b"tokens, targets = tokens.cuda(), targets.cuda(); hidden = model.init_hidden"),
        (b"output, _ = model(tokens,", b"tokens, targets = tokens.cuda(), targets.cuda(); output, _ = model(tokens,"),
    ],
    "loader_elsewhere": [
        (b"torch.nn.Linear(width, 1)", b"torch.nn.Linear(width, 1).cuda()"),
        (b"model(x), y", b"model(x.cuda()), y.cuda()"),
    ],
}
"""What scripts written for a CPU need so that they train on a card at all."""
BATCH = 16


@pytest.fixture(scope="module", autouse=True)
def emulator() -> None:
    if importlib.util.find_spec("torch_npu") is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    if not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the stand-ins are not built: pip install .")


def run(folder: Path, name: str, cards: int) -> list[float]:
    work = folder / f"{name}.{cards}"
    work.mkdir()
    dropped = ("ASCEND", "MASTER", "RANK", "LOCAL", "WORLD", "JUMAR", "TORCH_DEVICE")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    machine = f"test-{uuid.uuid4().hex[:12]}"
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "launch", "--cards", str(cards), "--logs", "logs", f"../{name}.py",
         "--batch-size", str(BATCH // cards), "--save-model", str(work / "model.pt")],
        cwd=work, env={**clean, "JUMAR_EMULATE": "1", "JUMAR_MACHINE": machine, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert not list(Path("/dev/shm").glob(f"*{machine}*"))
    for rank in range(1, cards):
        assert "RESULT" not in (work / "logs" / f"rank_{rank}.log").read_text(), "only the first rank talks"
    lines = [line for line in (work / "logs" / "rank_0.log").read_text().splitlines() if line.startswith("RESULT")]
    return [float(number) for line in lines for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)]


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True])
def test_a_program_of_several_files_computes_the_same_on_two_emulated_cards(tmp_path: Path, sharded: bool) -> None:
    folder = SCRIPTS.with_name("programs") / "many_files"
    for path in folder.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for file in migrate([folder], Settings(multi_card=True, sharded=sharded), cache=False).files:
        (tmp_path / Path(file.path).name).write_bytes(file.after)
    alone, together = run(tmp_path, "many_files", 1), run(tmp_path, "many_files", 2)
    assert len(alone) == 4
    assert together == pytest.approx(alone, rel=5e-4, abs=5e-5)


@pytest.mark.parametrize("name", NAMES)
def test_four_emulated_cards_come_to_the_numbers_of_one(tmp_path: Path, name: str) -> None:
    raw = (SCRIPTS / f"{name}.py").read_bytes()
    for old, new in TO_CARD.get(name, []):
        assert old in raw
        raw = raw.replace(old, new)
    result = migrate_bytes(f"{name}.py", raw, Settings(to=Style.NPU, multi_card=True))
    assert result is not None and b'init_process_group("hccl")' in result.after
    (tmp_path / f"{name}.py").write_bytes(result.after)
    (tmp_path / "its_loaders.py").write_bytes((SCRIPTS / "its_loaders.py").read_bytes())
    alone, together = run(tmp_path, name, 1), run(tmp_path, name, 4)
    assert len(alone) > 1
    assert together == pytest.approx(alone, rel=5e-4, abs=5e-5)
