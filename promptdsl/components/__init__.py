"""What authors call: one file per family. A component places itself and becomes a node."""
