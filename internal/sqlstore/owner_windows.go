package sqlstore

// chownLike has nothing to do: a file takes after its folder.
func chownLike(store, path string) error { return nil }
