"""Something that goes on in a thread of its own while a block runs."""

import threading


class Meanwhile:
    """Calls `again` over and over, `pause` seconds apart, until the block ends."""

    pause = 0.01

    def __enter__(self):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _go(self):
        while not self._over.wait(self.pause):
            self.again()

    def again(self):
        """Do it once."""
        raise NotImplementedError
