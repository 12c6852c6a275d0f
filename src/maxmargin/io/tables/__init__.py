"""Tables: CSV, Parquet and Arrow, whole and in batches; their columns become features."""
