"""The making of ops: a primitive and its rules become a public function."""
