"""`python -m functions.reconcile`: the reconcile function under gunicorn.

Nothing that is imported is garbage, and a collector that looks for some costs an eighth of a cold start. It stands
still until there is a worker (`functions.runtime.server`).
"""

import gc

if __name__ == "__main__":
    gc.disable()
    from functions.reconcile.process import main

    main()
