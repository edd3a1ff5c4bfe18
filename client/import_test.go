package client_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"animalstore/client"
)

// wantPets checks that exactly these animals exist, oldest first. Each animal is written as "name categoryId
// status".
func (s *testService) wantPets(want ...string) {
	s.t.Helper()
	var got []string
	for pet, err := range s.client().Pets(s.t.Context(), client.PetQuery{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		got = append([]string{fmt.Sprintf("%s %d %s", pet.Name, pet.CategoryID, pet.Status)}, got...)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client()
	n, err := c.ImportPets(t.Context(), []client.NewPet{{Name: "Rex <&>", CategoryID: 1, Status: client.PetSold}, {Name: "Mia\u2028", CategoryID: -2}})
	if err != nil || n.Created != 2 || n.Replayed {
		t.Errorf("got %+v %v", n, err)
	}
	if n, err = c.ImportFile(t.Context(), client.CSV, []byte("name;categoryId\nTom;3\n")); err != nil || n.Created != 1 || n.Replayed {
		t.Errorf("got %+v %v", n, err)
	}
	if err := c.CheckFile(t.Context(), client.CSV, []byte("name;categoryId\nTom;3\n")); err != nil {
		t.Error(err)
	}
	want := []string{"Rex <&> 1 sold", "Mia\u2028 -2 ", "Tom 3 "}
	s.wantPets(want...)
	for _, format := range []client.Format{client.CSV, client.NDJSON} {
		content := []byte("name,categoryId\nTom,1\nTom,x\n")
		_, err := c.ImportFile(t.Context(), format, content)
		wantCode(t, err, client.CodeValidationFailed)
		err = c.CheckFile(t.Context(), format, content)
		if wantCode(t, err, client.CodeValidationFailed); !strings.Contains(err.Error(), "line 3: ") {
			t.Error(err)
		}
	}
	_, err = c.ImportPets(t.Context(), make([]client.NewPet, client.MaxImport+1))
	wantCode(t, err, client.CodePayloadTooLarge)
	_, err = c.ImportFile(t.Context(), client.CSV, make([]byte, client.MaxImportSize+1))
	wantCode(t, err, client.CodePayloadTooLarge)
	s.requests()
	if _, err := c.ImportFile(t.Context(), "xml", nil); err == nil || c.CheckFile(t.Context(), "", nil) == nil {
		t.Error("an unknown format was accepted")
	}
	if sent := s.requests(); len(sent) > 0 {
		t.Errorf("a request was sent: %v", sent)
	}
	s.wantPets(want...)
}

// An import whose response is lost takes effect only once.
func TestImportWithLostResponseHappensOnce(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.inject(dropRequest, dropResponse, cutResponse)
	n, err := s.client().ImportPets(t.Context(), []client.NewPet{{Name: "Rex", CategoryID: 1}})
	if err != nil || n.Created != 1 || !n.Replayed {
		t.Errorf("got %+v %v", n, err)
	}
	s.inject(dropResponse)
	if n, err = s.client().ImportFile(t.Context(), client.NDJSON, []byte(`{"name":"Mia","categoryId":1}`), client.IdempotencyKey("mine")); err != nil || n.Created != 1 || !n.Replayed {
		t.Errorf("got %+v %v", n, err)
	}
	if n, err = s.client().ImportFile(t.Context(), client.NDJSON, []byte(`{"name":"Mia","categoryId":1}`), client.IdempotencyKey("mine")); err != nil || n.Created != 1 || !n.Replayed {
		t.Errorf("got %+v %v", n, err)
	}
	s.inject(dropResponse)
	if err := s.client().CheckFile(t.Context(), client.CSV, []byte("name,categoryId\nTom,1\n")); err != nil {
		t.Error(err)
	}
	s.wantPets("Rex 1 ", "Mia 1 ")
}

func TestExport(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.addPet("Rex")
	s.addPet("=1+1")
	c := s.client()
	for format, want := range map[client.Format]string{
		client.CSV:    "id,name,categoryId,status\r\n1,Rex,1,available\r\n2,'=1+1,1,available\r\n",
		client.NDJSON: `{"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n" + `{"id":2,"name":"=1+1","categoryId":1,"status":"available"}` + "\n",
	} {
		var got strings.Builder
		s.inject(dropRequest, respond(503, apiError(503, client.CodeUnavailable), "Content-Type", "application/json"))
		if n, err := c.ExportFile(t.Context(), format, &got); err != nil || got.String() != want || n != int64(len(want)) {
			t.Errorf("got %d %v %q", n, err, got.String())
		}
	}
}

// A truncated export returns an error. It is not retried if data was already written.
func TestInterruptedExportIsAnError(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.addPet("Rex")
	s.requests()
	s.inject(cutResponse)
	var got strings.Builder
	n, err := s.client().ExportFile(t.Context(), client.CSV, &got)
	if !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 || n != int64(got.Len()) || len(s.requests()) != 1 {
		t.Errorf("got %d %v %q", n, err, got.String())
	}
	s.inject(respond(200, proxyPage, "Content-Type", "text/html"))
	_, err = s.client().ExportFile(t.Context(), client.CSV, &got)
	wantCode(t, err, client.CodeUnexpectedAnswer)
	_, err = s.clientWith("another-key-of-somebody").ExportFile(t.Context(), client.NDJSON, io.Discard)
	wantCode(t, err, client.CodeInvalidAPIKey)
	if _, err = s.client().ExportFile(t.Context(), "xml", io.Discard); err == nil {
		t.Error("an unknown format was accepted")
	}
	full := errors.New("the disk is full")
	if _, err = s.client().ExportFile(t.Context(), client.CSV, writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
