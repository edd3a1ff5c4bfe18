package staff

import (
	"io"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// Templates refer to fields by name, which the compiler does not check. This test executes every template
// with empty data, with one element in every list, and with a value in every field, so that both branches of
// every condition are reached.
func TestEveryTemplateMatchesItsData(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	admin, err := s.Authenticate(t.Context(), configuredKey)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(Config{Service: s.Service, Log: s.log()})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"categories":   categoriesPage{},
		"dashboard":    dashboardPage{},
		"error":        shop.Error{},
		"import":       importPage{},
		"keys":         keysPage{},
		"orders":       ordersPage{},
		"pet-add":      petForm{},
		"pet-delete":   shop.PetView{},
		"pet-detail":   petDetail{},
		"pet-edit":     petForm{},
		"pets":         petsPage{},
		"sign-in":      signInForm{},
		"webhook":      webhookPage{},
		"webhooks":     webhooksPage{},
		"new-pets":     petsPage{},     // rendered as a fragment
		"pet-removed":  int64(0),       // rendered as a fragment
		"pet-removing": shop.PetView{}, // rendered as a fragment
	}
	for _, name := range slices.Sorted(maps.Keys(pages.templates.pages)) {
		if data[name] == nil {
			t.Errorf("the page %s is not tested", name)
		}
	}
	for name, empty := range data {
		for _, fill := range []filler{{}, {lists: true}, {lists: true, values: true}} {
			value := reflect.New(reflect.TypeOf(empty)).Elem()
			fill.fill(value)
			render := pages.templates.fragment
			if pages.templates.pages[name] != nil {
				render = pages.templates.page
			}
			if err := render(io.Discard, name, &view{Data: value.Interface(), KeyName: "till", Staging: true, principal: admin}); err != nil {
				t.Errorf("%s with %+v: %v", name, fill, err)
			}
		}
	}
}

// filler sets the fields of a value recursively.
type filler struct {
	lists  bool // whether to give every pointer, slice and map an element
	values bool // whether to set every number, string, bool and time
}

func (f filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if f.values {
				v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
			}
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.fill(field)
			}
		}
	case reflect.Pointer:
		if f.lists {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if f.lists {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			f.fill(v.Index(0))
		}
	case reflect.Map:
		if f.lists {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(element)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, element)
		}
	case reflect.String:
		switch {
		case !f.values:
		case v.Type() == reflect.TypeFor[shop.OrderStatus]():
			v.SetString(string(shop.Placed)) // an order with this status can still change its status
		default:
			v.SetString("available")
		}
	case reflect.Int, reflect.Int64:
		if f.values {
			v.SetInt(1)
		}
	case reflect.Bool:
		v.SetBool(f.values)
	}
}
