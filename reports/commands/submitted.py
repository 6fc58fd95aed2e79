"""The command line for `spark-submit`, which takes the path of a Python file:

    spark-submit --master spark://… "$(python -m reports.commands.submitted)" ingest runs/* --warehouse …

Started without words it says that path.
"""

import os
import sys

from reports.commands.cli import main
from reports.warehouse.spark import SUBMITTED

if __name__ == "__main__":
    if SUBMITTED in os.environ or sys.argv[1:]:
        main(prog_name="amqp-conformance")
    sys.stdout.write(f"{os.path.abspath(__file__)}\n")  # noqa: PTH100 - as spark-submit is to find it
