import atexit
import os
import time
import unittest

import torch
import torch._prims


class TestCard(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(torch.ones(2).npu().sum().item(), 2)

    def test_differs(self):
        self.fail("result error")

    def test_refused(self):
        raise RuntimeError("jumar: `aclnnAbs` is not emulated (state: refused)")

    @unittest.skip("not on this chip")
    def test_skipped(self):
        pass

    def test_crashes(self):
        os.abort()

    def test_waits(self):
        time.sleep(600)

    def test_ends(self):
        atexit._run_exitfuncs()

    def test_ends_only_itself(self):
        self.assertTrue(torch._C._dispatch_has_kernel("prims::mul"))
