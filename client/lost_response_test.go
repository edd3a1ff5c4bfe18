package client_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"animalstore/client"
)

func TestCreateWithLostResponse(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"the request is lost":          {dropRequest},
		"the response is lost":         {dropResponse},
		"half of the response is lost": {cutResponse},
		"a proxy fails":                {respondAfter(502)},
		"the service is overloaded":    {respondAfter(503)},
		"a proxy times out":            {respondAfter(504)},
		"several faults":               {dropResponse, dropRequest, cutResponse, respondAfter(504)},
		"the first request is running": {respond(409, apiError(409, client.CodeIdempotencyKeyInUse))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestService(t)
			s.inject(faults...)
			pet := must(s.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
			sent := s.requests()
			if len(sent) != len(faults)+1 {
				t.Errorf("sent %d requests", len(sent))
			}
			for _, r := range sent {
				if r.header.Get("Idempotency-Key") != sent[0].header.Get("Idempotency-Key") || r.body != sent[0].body || r.body == "" {
					t.Errorf("the retry %+v differs from %+v", r, sent[0])
				}
			}
			if got := must(s.client().GetPet(t.Context(), pet.ID))(t); got != pet || s.countPets() != 1 {
				t.Errorf("got %+v, want %+v; there are %d animals", got, pet, s.countPets())
			}
		})
	}
}

func TestOrderWithLostResponse(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, pet := s.client(), t.Context(), s.addPet("Rex")
	s.inject(dropResponse)
	order := must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}))(t)
	for _, step := range []struct {
		to   client.OrderStatus
		take func(context.Context, int64) (client.Order, error)
	}{{client.OrderApproved, c.ApproveOrder}, {client.OrderDelivered, c.DeliverOrder}} {
		s.inject(dropResponse, cutResponse)
		if order = must(step.take(ctx, order.ID))(t); order.Status != step.to {
			t.Errorf("the order is %+v, want it %s", order, step.to)
		}
	}
	orders, _, err := c.ListOrders(ctx, client.OrderQuery{})
	if err != nil || !slices.Equal(orders, []client.Order{order}) {
		t.Errorf("got %+v, %v, want %+v", orders, err, order)
	}
}

func TestUpdateWithLostResponse(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, pet := s.client(), t.Context(), s.addPet("Rex")
	s.inject(dropResponse)
	changed := must(c.UpdatePet(ctx, pet.ID, client.PetUpdate{Status: new(client.PetSold)}))(t)
	if changed.Status != client.PetSold || changed.ETag == pet.ETag {
		t.Errorf("changed to %+v", changed)
	}
	s.inject(dropResponse)
	category, created, err := c.PutCategory(ctx, 7, "Dogs")
	if err != nil || created || category.Name != "Dogs" { // created is false because the earlier attempt created the category
		t.Errorf("put %+v, %v, %v", category, created, err)
	}
}

func TestConditionalUpdateWithLostResponse(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, pet := s.client(), t.Context(), s.addPet("Rex")
	rename := func(name string) (client.Pet, error) {
		pet = must(c.GetPet(ctx, pet.ID))(t)
		return c.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: &name}, client.IfMatch(pet.ETag))
	}
	s.inject(passThrough, dropRequest) // the first request is the GET, which succeeds
	if got := must(rename("A"))(t); got.Name != "A" {
		t.Errorf("got %+v", got)
	}
	s.inject(passThrough, dropResponse)
	if _, err := rename("B"); err == nil || client.IsCode(err, client.CodePreconditionFailed) || !strings.Contains(err.Error(), "first attempt") {
		t.Errorf("got %v", err)
	}
	s.inject(passThrough, respondAfter(503))
	_, err := rename("C")
	wantCode(t, err, client.CodeUnexpectedAnswer)
	if got := must(c.GetPet(ctx, pet.ID))(t); got.Name != "C" {
		t.Errorf("got %+v", got)
	}
	s.inject(respond(429, apiError(429, client.CodeRateLimited))) // the service did not carry out this attempt
	_, err = c.UpdatePet(ctx, pet.ID, client.PetUpdate{}, client.IfMatch(`"stale"`))
	wantCode(t, err, client.CodePreconditionFailed)
}

func TestDeleteWithLostResponse(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	pet, tagged := s.addPet("Rex"), s.addPet("Mia")
	category := must(c.CreateCategory(ctx, "Fish"))(t)
	key := must(c.CreateKey(ctx, client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopePetsRead}}))(t)
	for name, remove := range map[string]func() error{
		"pet":             func() error { return c.DeletePet(ctx, pet.ID) },
		"unchanged pet":   func() error { return c.DeletePet(ctx, tagged.ID, client.IfMatch(tagged.ETag)) },
		"category":        func() error { return c.DeleteCategory(ctx, category.ID) },
		"key":             func() error { return c.RevokeKey(ctx, key.ID) },
		"pet, once again": func() error { return c.DeletePet(ctx, s.addPet("Bo").ID) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(name, "again") {
				s.inject(passThrough, respondAfter(502)) // the first request creates the animal
			} else {
				s.inject(dropResponse)
			}
			if err := remove(); err != nil {
				t.Error(err)
			}
		})
	}
	if s.countPets() != 0 {
		t.Errorf("there are %d animals", s.countPets())
	}
	// If no attempt can have deleted the animal, a 404 means that it did not exist.
	wantCode(t, c.DeletePet(ctx, pet.ID), client.CodeNotFound)
	s.inject(respond(429, apiError(429, client.CodeRateLimited)))
	wantCode(t, c.DeletePet(ctx, pet.ID), client.CodeNotFound)
	// A 404 from another server does not mean that the animal was deleted.
	s.inject(dropResponse, respond(404, proxyPage))
	wantCode(t, c.DeletePet(ctx, pet.ID), client.CodeUnexpectedAnswer)
}

// If a response is lost and the service then becomes unreachable, the error must not suggest that nothing was
// done.
func TestLostResponseThenConnectionRefused(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := listener.Accept()
		listener.Close() // all further connections are refused
		if err == nil {
			conn.Read(make([]byte, 1000))
			conn.Close()
		}
	}()
	c := must(client.New("http://"+listener.Addr().String()+"/v1", "key", client.WithRetries(2)))(t)
	_, err = c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1})
	if err == nil || !strings.Contains(err.Error(), "; retried: ") {
		t.Errorf("got %v", err)
	}
	if !client.MayBeDone(err) {
		t.Errorf("%v suggests that nothing was done", err)
	}
}

func TestMayBeDone(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil:                                   false,
		io.EOF:                                true,
		io.ErrClosedPipe:                      true,
		&net.OpError{Op: "dial", Err: io.EOF}: false,
		&net.OpError{Op: "read", Err: io.EOF}: true,
		&tls.CertificateVerificationError{Err: io.EOF}:                false,
		&client.Error{Status: 409}:                                    false,
		&client.Error{Status: 503}:                                    true,
		&client.Error{Status: 200, Code: client.CodeUnexpectedAnswer}: true,
	} {
		if got := client.MayBeDone(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
