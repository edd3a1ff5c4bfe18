package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"animalstore/client"
)

func TestErrorCarriesTheServiceResponse(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	_, err := s.clientWith("ask_live_wrong").Inventory(t.Context())
	e, ok := errors.AsType[*client.Error](fmt.Errorf("wrapped: %w", err))
	if !ok || e.Code != client.CodeInvalidAPIKey || e.Status != 401 || e.RequestID == "" || e.RetryAfter != 0 ||
		!strings.HasPrefix(e.Message, "The API key is unknown or has expired") {
		t.Fatalf("got %+v", err)
	}
	if want := fmt.Sprintf("animalstore: %s (401 invalid_api_key, request %s)", e.Message, e.RequestID); e.Error() != want {
		t.Errorf("got %q, want %q", e.Error(), want)
	}
	if (&client.Error{Code: "c", Message: "M.", Status: 400}).Error() != "animalstore: M. (400 c)" {
		t.Error("an error without a request id reads badly")
	}
	for _, other := range []error{nil, io.EOF, &client.Error{Code: client.CodeNotFound}} {
		if client.IsCode(other, client.CodeInvalidAPIKey) {
			t.Errorf("%v is %s", other, client.CodeInvalidAPIKey)
		}
	}
	if !client.IsCode(fmt.Errorf("wrapped: %w", err), client.CodeInvalidAPIKey) {
		t.Errorf("%v is not %s", err, client.CodeInvalidAPIKey)
	}
}

func TestProxyError(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.inject(respond(502, proxyPage, "Content-Type", "text/html", "Retry-After", "61"))
	_, err := s.client().Inventory(t.Context())
	want := "animalstore: Unexpected response 502 Bad Gateway (text/html): it does not come from the service. (502 unexpected_answer)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// This package has a constant for every error code in the API document.
func TestCodesAreComplete(t *testing.T) {
	t.Parallel()
	document, source := must(os.ReadFile("../api/openapi.yaml"))(t), must(os.ReadFile("error.go"))(t)
	codes := regexp.MustCompile(`\bcode: ([a-z_]+)`).FindAllSubmatch(document, -1)
	if len(codes) < 10 {
		t.Fatalf("the API document has only %d error examples", len(codes))
	}
	for _, code := range codes {
		if !bytes.Contains(source, fmt.Appendf(nil, "Code = %q", code[1])) {
			t.Errorf("there is no constant for %s", code[1])
		}
	}
}

// The client's types have a field for everything that the service sends.
func TestTypesAreComplete(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, pet := s.client(), t.Context(), s.addPet("Rex")
	must(c.CreateCategory(ctx, "Dogs"))(t)
	must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "x"}))(t)
	must(c.CreateKey(ctx, client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopeAdmin}}))(t)
	hook := s.hookWithDeliveries()
	for path, into := range map[string]any{
		"/pets": new([]client.Pet), "/categories": new([]client.Category), "/store/orders": new([]client.Order),
		"/keys": new([]client.Key), "/store/inventory": new(client.Inventory),
		"/events": new([]client.Event), "/webhooks": new([]client.Webhook),
		fmt.Sprintf("/webhooks/%d/deliveries", hook.ID): new([]client.Delivery),
	} {
		request := must(http.NewRequestWithContext(ctx, "GET", s.url+path, nil))(t)
		request.Header.Set("Authorization", "Bearer "+adminKey)
		request.Close = true
		response := must(http.DefaultClient.Do(request))(t)
		decoder := json.NewDecoder(response.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		response.Body.Close()
	}
}
