package sqlstore

import (
	"encoding/json"
	"fmt"

	"animalstore/internal/shop"
)

func (t *tx) Environment() (shop.Environment, error) {
	environment, _, err := one(t, scanValue[shop.Environment], "SELECT value FROM settings WHERE name = 'environment'")
	return environment, err
}

func (t *tx) SetEnvironment(e shop.Environment) error {
	return t.Exec("INSERT INTO settings (name, value) VALUES ('environment', $1)", e)
}

func (t *tx) Demo() (bool, error) {
	_, found, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = 'demo'")
	return found, err
}

func (t *tx) SetDemo() error {
	t.touched |= touchedCatalog | touchedOrders // another Store may have written the data
	return t.set("demo", "filled")
}

// ShopSetting is the name of the setting that contains shop.Settings as JSON.
const ShopSetting = "store"

// ParseSettings parses the value of ShopSetting.
func ParseSettings(value string) (shop.Settings, error) {
	settings := shop.DefaultSettings()
	if err := json.Unmarshal([]byte(value), &settings); err != nil {
		return settings, fmt.Errorf("invalid settings: %w", err)
	}
	return settings, nil
}

func (t *tx) Settings() (shop.Settings, error) {
	value, found, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = '"+ShopSetting+"'")
	if err != nil || !found {
		return shop.DefaultSettings(), err
	}
	return ParseSettings(value)
}

func (t *tx) UpdateSettings(_, after shop.Settings) error {
	value, err := json.Marshal(after)
	if err != nil {
		return err // cannot happen, because settings consist of texts
	}
	t.touched |= touchedWindow
	return t.set(ShopSetting, string(value))
}

// set inserts a setting or replaces its value.
func (t *tx) set(name, value string) error {
	return t.Exec(SetSetting, name, value)
}

// SetSetting is the statement that sets the setting $1 to the value $2, whether or not the setting exists.
const SetSetting = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

func (t *tx) EndWhenIdle() error {
	if t.dialect.endWhenIdle == "" {
		return nil
	}
	return t.Exec(t.dialect.endWhenIdle)
}
