package client_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/api"
	"animalstore/client"
	"animalstore/internal/shoptest"
)

var update = flag.Bool("update", false, "write testdata/story.txt")

// notCalled lists the operations in the API document that the client never calls.
var notCalled = []string{
	"getPet",                           // deprecated; GetPet calls the operation that replaces it
	"getOpenapiJson", "getOpenapiYaml", // used by code generators
	"receiveEvent", // sent by the service to webhooks; see VerifyWebhook
}

// story is one run through all operations of the client. Its transcript shows every call with its results. All calls
// share one service, so an effect that happens twice shows in the results of later calls.
type story struct {
	*testing.T
	s          *testService
	c          *client.Client
	fault      fault // what happens to the first request of every call
	lost, cut  bool  // lost: the first response to every call is lost; cut: its beginning arrives
	start      time.Time
	called     map[string]bool
	transcript strings.Builder
}

// Every method of the client works with the real service. If the network loses the first request of every
// call or the response to it, the results are the same, and every call takes effect exactly once.
func TestEveryOperation(t *testing.T) {
	const golden = "testdata/story.txt"
	want := string(shoptest.Must(os.ReadFile(golden))(t))
	// If a response is lost, the results are those of the retry. The secret is missing, and the results say that an
	// earlier attempt has already taken effect.
	ifLost := strings.NewReplacer("Secret:{secret}}\n", fmt.Sprintf("Secret:}\n\t%v\n", client.ErrSecretLost),
		"Created:0 Updated:0 Replayed:false", "Created:0 Updated:0 Replayed:false", "Replayed:false", "Replayed:true", "\ttrue\n", "\tfalse\n")
	for name, network := range map[string]*story{
		"on a good network":     {fault: passThrough},
		"requests are lost":     {fault: dropRequest},
		"responses are lost":    {fault: dropResponse, lost: true},
		"responses are cut":     {fault: cutResponse, lost: true, cut: true},
		"a proxy is overloaded": {fault: proxyError, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				y := network
				y.T, y.s, y.c, y.start, y.called = t, s, s.client(), time.Now(), map[string]bool{}
				want := slices.Collect(strings.Lines(want))
				if y.lost {
					want = slices.Collect(strings.Lines(ifLost.Replace(strings.Join(want, ""))))
				}
				var got []string
				for _, part := range []func(){y.pets, y.files, y.orders, y.keys, y.webhooks, y.events, y.profiles, y.photos, y.store} {
					y.begin()
					part()
					got = slices.Collect(strings.Lines(y.transcript.String()))
					if diff := cmp.Diff(want[:min(len(got), len(want))], got); diff != "" && !*update {
						t.Fatalf("the transcript differs from %s, which -update writes: %s", golden, diff)
					}
				}
				if *update && !y.lost {
					shoptest.OK(t, os.WriteFile(golden, []byte(y.transcript.String()), 0o644))
				}
				wantEqual(t, "lines of the transcript", len(got), len(want))
				for method := range reflect.TypeFor[*client.Client]().Methods() {
					if !y.called[method.Name] {
						t.Errorf("the story does not call %s", method.Name)
					}
				}
				y.wantEveryOperationCalled()
				y.wantTypesComplete()
			})
		})
	}
}

// begin injects the story's fault into the first request of every later call. The retry of each call reaches the
// service.
func (y *story) begin() { y.s.injectAlways(y.fault, passThrough) }

// call calls a method of the client, writes its results to the transcript and returns the first one.
func (y *story) call(method string, args ...any) any {
	y.called[method] = true
	in := []reflect.Value{reflect.ValueOf(y.Context())}
	for _, arg := range args {
		in = append(in, reflect.ValueOf(arg))
	}
	fmt.Fprintln(&y.transcript, method)
	results := reflect.ValueOf(y.c).MethodByName(method).Call(in)
	for _, result := range results {
		if result.Kind() != reflect.Func {
			y.write(result.Interface())
			continue
		}
		for item, err := range result.Seq2() {
			y.write(item.Interface())
			y.write(err.Interface())
		}
	}
	return results[0].Interface()
}

var (
	timeText   = regexp.MustCompile(`(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.\d]*(Z| \+0000 UTC)`)
	secretText = regexp.MustCompile(`(ask_live|whsec)_[^}]+`)
	randomText = regexp.MustCompile(`request [a-z2-7]{26}|(Hint|MessageID|"hint"):[^ ,]+|/photos/[0-9a-f]{32}`)
)

// write writes one result to the transcript. It replaces random values. It shows a time as the number of five-minute
// units since the start of the story.
func (y *story) write(result any) {
	text := fmt.Sprintf("%+v", result)
	switch r := result.(type) {
	case nil:
		return
	case string:
		text = fmt.Sprintf("%#q", r)
	case client.Order:
		text = string(shoptest.Must(json.Marshal(r))(y.T))
		if r.ETag != "" {
			text += " {etag}" // the ETag depends on the times
		}
	case client.Profile:
		text = string(shoptest.Must(json.Marshal(r))(y.T)) // the ETag depends on the times
	case client.Photo:
		text = string(shoptest.Must(json.Marshal(r))(y.T)) // the ETag depends on the times
	case []client.Photo:
		for _, photo := range r {
			y.write(photo)
		}
		return
	case []client.Order:
		for _, order := range r {
			y.write(order)
		}
		return
	case []client.Profile:
		for _, profile := range r {
			y.write(profile)
		}
		return
	case client.Event:
		text = fmt.Sprintf("%s %s %s %s from %s to %s", r.ID, r.Actor, r.Type, r.Subject, r.Data.Previous, r.Data.Current)
	case []client.Event:
		for _, event := range r {
			y.write(event)
		}
		return
	}
	text = timeText.ReplaceAllStringFunc(text, func(text string) string {
		parts := timeText.FindStringSubmatch(text)
		at := shoptest.Must(time.Parse(time.DateTime, parts[1]+" "+parts[2]))(y.T)
		if at.IsZero() {
			return "never"
		}
		return "+" + at.Sub(y.start).Round(5*time.Minute).String()
	})
	text = randomText.ReplaceAllString(secretText.ReplaceAllString(text, "{secret}"), "{random}")
	fmt.Fprintf(&y.transcript, "\t%s\n", text)
}

// writeBody writes the body of the last request to the transcript.
func (y *story) writeBody() {
	sent := y.s.requests()
	y.write(sent[len(sent)-1].body)
}

// body sends a GET request directly to the service, without using the client or the network, and returns the response
// body.
func (y *story) body(path string) []byte {
	r := httptest.NewRequestWithContext(y.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+shoptest.AdminKey)
	w := httptest.NewRecorder()
	y.s.api.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// wantEveryOperationCalled checks in the service's metrics that every operation in the API document was called,
// except those in notCalled.
func (y *story) wantEveryOperationCalled() {
	operations := regexp.MustCompile(`operationId: (\w+)`).FindAllSubmatch(shoptest.Must(api.NewDocument())(y.T).YAML(nil), -1)
	if len(operations) < 30 {
		y.Errorf("the API document has only %d operations", len(operations))
	}
	metrics := y.body("/metrics")
	for _, operation := range operations {
		name := string(operation[1])
		called := regexp.MustCompile(`requests_total\{operation="` + name + `"[^}]*\} [1-9]`).Match(metrics)
		wantEqual(y.T, name+" is called", called, !slices.Contains(notCalled, name))
	}
}

// wantTypesComplete checks that the client's types have a field for everything that the service sends.
func (y *story) wantTypesComplete() {
	for path, into := range map[string]any{
		"/pets": new([]client.Pet), "/categories": new([]client.Category), "/store/orders": new([]client.Order),
		"/keys": new([]client.Key), "/store/inventory": new(client.Inventory), "/store": new(client.Store),
		"/events": new([]client.Event), "/webhooks": new([]client.Webhook), "/webhooks/1/deliveries": new([]client.Delivery),
	} {
		body := y.body("/v1" + path)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil || len(body) < len(`[{"id":1}]`) {
			y.Errorf("%s: %v, %s", path, err, body)
		}
	}
}
