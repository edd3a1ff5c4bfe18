package sqlstore

import "animalstore/internal/shop"

func (t *tx) Environment() (shop.Environment, error) {
	environment, _, err := one(t, scanValue[shop.Environment], "SELECT value FROM settings WHERE name = 'environment'")
	return environment, err
}

func (t *tx) SetEnvironment(e shop.Environment) error {
	return t.exec("INSERT INTO settings (name, value) VALUES ('environment', $1)", e)
}
