"""An installation makes its signing key once."""

import stat
from concurrent.futures import ThreadPoolExecutor

from hermes_workflow.secret_key import secret_key


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "home" / "secret-key"
    key = secret_key(path)
    assert len(key) >= 50
    assert secret_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_that_start_together_agree_on_one_key(tmp_path):
    path = tmp_path / "secret-key"
    with ThreadPoolExecutor(16) as threads:
        keys = set(threads.map(lambda _: secret_key(path), range(64)))
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret-key"]
