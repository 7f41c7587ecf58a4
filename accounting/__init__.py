"""Accounting without Django: job records, metering, prices, ledger, statements, exports."""
