package cli

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestDeadlines(t *testing.T) {
	t.Parallel()
	all := newConnections(10)
	one, client := connect(t, all)
	began := *all.now.Load()
	// read reads the next byte where there is one, and otherwise waits for whatever ends that.
	read := func() error {
		_, err := one.Read(make([]byte, 1))
		return err
	}
	send := func() {
		t.Helper()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	set := func(at time.Time) {
		t.Helper()
		if err := one.SetReadDeadline(at); err != nil {
			t.Fatal(err)
		}
	}
	passed := func(when string) {
		t.Helper()
		if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", when, err)
		}
	}
	stands := func(when string) {
		t.Helper()
		send()
		if err := read(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }

	set(at(10))
	all.pass(at(9))
	stands("before a deadline that is far away")
	all.pass(at(10))
	passed("when it has come")
	passed("and after that")

	set(at(30))
	stands("after a new one was set")
	set(time.Time{})
	all.pass(at(31))
	stands("after it was cleared")

	set(at(50))
	set(at(70))
	all.pass(at(60))
	stands("after it was put off")
	all.pass(at(70))
	passed("when the later one has come")
	set(time.Time{})
	stands("after that was cleared")

	set(time.Unix(1, 0)) // as net/http ends what it waits for
	passed("a deadline that is over")
	set(time.Time{})
	stands("after it was cleared")
	all.pass(time.Now())
	set(time.Now().Add(10 * time.Millisecond)) // has a timer of its own
	passed("a deadline that is near")

	// ends reads, and sets the deadline meanwhile.
	ends := func(when string, deadline func()) {
		t.Helper()
		set(time.Time{})
		waiting := make(chan error, 1)
		go func() { waiting <- read() }()
		for range 1000 { // most times it waits by then
			runtime.Gosched()
		}
		deadline()
		if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", when, err)
		}
	}
	ends("a far one, for what waited", func() { set(at(200)); all.pass(at(200)) })
	all.pass(time.Now())
	ends("a near one, for what waited", func() { set(time.Now().Add(10 * time.Millisecond)) })
	ends("one that is over, for what waited", func() { set(time.Unix(1, 0)) })
	set(time.Time{})
	stands("after all that")
}

// A client that does not read is not waited for, and both directions have their own deadlines.
func TestWriteDeadlines(t *testing.T) {
	t.Parallel()
	all := newConnections(10)
	one, _ := connect(t, all)
	late := all.now.Load().Add(time.Minute)
	if err := one.SetDeadline(late.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := one.SetWriteDeadline(late); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		for piece := make([]byte, 1<<20); ; {
			if _, err := one.Write(piece); err != nil {
				waiting <- err
				return
			}
		}
	}()
	all.pass(late)
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what was written: %v", err)
	}
	all.pass(late.Add(time.Minute))
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what was read: %v", err)
	}
}

// The deadlines of a service that runs pass by themselves.
func TestKeepTime(t *testing.T) {
	t.Parallel()
	all := newConnections(10)
	one, _ := connect(t, all)
	stop := all.keepTime()
	defer stop()
	if err := one.SetReadDeadline(all.now.Load().Add(farAway)); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

// connect returns both ends of a new connection.
func connect(t *testing.T, all *connections) (*connection, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.Listener = listener
	t.Cleanup(func() { all.Close() })
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	one, err := all.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close() })
	return one.(*connection), client
}
