"""The report in the forms that CI systems show, one module a form."""
