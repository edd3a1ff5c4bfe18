package sqlstore

func (t *tx) EnsureCategory(id int64) error {
	return t.exec("INSERT INTO categories (id) VALUES ($1) ON CONFLICT (id) DO NOTHING", id)
}
