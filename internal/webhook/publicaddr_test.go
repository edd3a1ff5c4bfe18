package webhook

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestRequirePublic(t *testing.T) {
	t.Parallel()
	for kind, addresses := range map[string]string{
		"": `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 172.15.255.255
			172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8
			64:ff9b::808:808 2002:808:808::1 2003::1`,
		"unspecified": "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 64:ff9b::",
		"private": `10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 172.16.0.1 172.31.255.255 192.168.0.1 fc00::1 fd12:3456::1 fdff::ffff
			::ffff:10.0.0.1 ::ffff:c0a8:1 64:ff9b::a00:1 64:ff9b::c0a8:101 2002:a00:1::1 2002:c0a8:101::`,
		"loopback":   "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
		"link-local": "169.254.169.254 169.254.0.1 fe80::1 febf::1 fe80::1%eth0 2606:4700::1111%eth0 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::",
		"multicast":  "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
		"reserved": `192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1 255.255.255.255
			::2 ::7f00:1 ::10.0.0.1 64:ff9b:1::1 64:ff9b:1:7f00:1:: 100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 3fff::1 fec0::1 4000::1 1fff::1`,
	} {
		for address := range strings.FieldsSeq(addresses) {
			addr := netip.MustParseAddr(address)
			err := requirePublic(addr)
			if kind == "" && err != nil || kind != "" && (err == nil || !strings.Contains(err.Error(), "the address "+addr.String()+" is "+kind+";")) {
				t.Errorf("%s (%s): %v", address, kind, err)
			}
		}
	}
}

// dnsServer is a DNS server that answers with configured addresses and counts the lookups.
type dnsServer struct {
	resolver    *net.Resolver
	mu          sync.Mutex
	answers     map[string][]string // the addresses for each name; each lookup returns the next one, and the last one repeats
	lookupCount map[string]int
}

func newDNSServer(t *testing.T, answers map[string][]string) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{answers: answers, lookupCount: map[string]int{}}
	s.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	var serving sync.WaitGroup
	serving.Go(func() {
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer, err := s.answer(packet[:n]); err == nil {
				conn.WriteTo(answer, from)
			}
		}
	})
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return s
}

func (s *dnsServer) answer(packet []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(packet); err != nil {
		return nil, err
	}
	question := message.Questions[0]
	message.Header = dnsmessage.Header{ID: message.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	message.Additionals = nil
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}
	address, known := s.next(strings.TrimSuffix(question.Name.String(), "."), question.Type)
	switch {
	case !known:
		message.RCode = dnsmessage.RCodeNameError
	case address.Is4() && question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
	case address.Is6() && question.Type == dnsmessage.TypeAAAA:
		message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	return message.Pack()
}

// next returns the next address for a name. Each lookup sends an A query and an AAAA query, so only the A
// queries are counted.
func (s *dnsServer) next(name string, kind dnsmessage.Type) (netip.Addr, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses, known := s.answers[name]
	if !known {
		return netip.Addr{}, false
	}
	address := netip.MustParseAddr(addresses[min(s.lookupCount[name], len(addresses)-1)])
	if kind == dnsmessage.TypeA {
		s.lookupCount[name]++
	}
	return address, true
}

// lookups returns how many times a name was looked up.
func (s *dnsServer) lookups(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookupCount[name]
}

// countConnections returns a listener that counts the connections to a server. Call it before the server
// starts.
func countConnections(server *httptest.Server) *countingListener {
	c := &countingListener{Listener: server.Listener}
	server.Listener = c
	return c
}

type countingListener struct {
	net.Listener
	mu sync.Mutex
	n  int
}

func (c *countingListener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		c.n++
		c.mu.Unlock()
	}
	return conn, err
}

func (c *countingListener) accepted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// If a host name resolves to a private address, the connection is refused.
func TestNamesOfPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := newReceiver(t, nil)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	names := map[string][]string{
		"loopback.example.com": {"127.0.0.1"}, "ten.example.com": {"10.1.2.3"}, "metadata.example.com": {"169.254.169.254"},
		"nat.example.com": {"100.64.0.1"}, "zero.example.com": {"0.0.0.0"},
		"loopback6.example.com": {"::1"}, "local6.example.com": {"fc00::1"}, "ours6.example.com": {"fd00::1"}, "mapped.example.com": {"::ffff:127.0.0.1"},
	}
	s := newSender("v1", requirePublic, newDNSServer(t, names).resolver)
	defer s.close()
	for name, addresses := range names {
		attempt, _ := s.send(t.Context(), message("http://"+net.JoinHostPort(name, port)+"/"))
		address := netip.MustParseAddr(addresses[0])
		if attempt.Status != 0 || !strings.Contains(attempt.Error, address.Unmap().String()) || !strings.Contains(attempt.Error, "may only use public addresses") {
			if address.Is4() || hasIPv6() {
				t.Errorf("%s: %+v", name, attempt)
			}
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "017700000001",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]"} {
		system := newSender("v1", requirePublic, nil)
		if attempt, _ := system.send(t.Context(), message("http://"+host+":"+port+"/")); attempt.Status != 0 || attempt.Error == "" {
			t.Errorf("%s: %+v", host, attempt)
		}
		system.close()
	}
	if n := server.connections.accepted(); n != 0 {
		t.Errorf("there were %d connections, want none", n)
	}
}

func hasIPv6() bool {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		listener.Close()
	}
	return err == nil
}

// The check applies to exactly the address that is dialled and does not look up the name separately.
// Otherwise a name could resolve to a public address for the check and to a private one for the connection
// (DNS rebinding).
func TestAddressIsCheckedWhenConnecting(t *testing.T) {
	t.Parallel()
	good, bad := newReceiver(t, nil), newReceiver(t, nil, "127.0.0.2:0")
	names := newDNSServer(t, map[string][]string{"turns.example.com": {"127.0.0.1", "127.0.0.2"}})
	s := newSender("v1", func(addr netip.Addr) error {
		if addr == netip.MustParseAddr("127.0.0.1") {
			return nil // this address stands in for a public one
		}
		return requirePublic(addr)
	}, names.resolver)
	defer s.close()
	url := func(r *receiver) string {
		_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
		return "http://turns.example.com:" + port + "/"
	}
	if attempt, _ := s.send(t.Context(), message(url(good))); attempt.Status != 200 {
		t.Errorf("the first time: %+v", attempt)
	}
	if attempt, _ := s.send(t.Context(), message(url(bad))); !strings.Contains(attempt.Error, "127.0.0.2 is loopback") {
		t.Errorf("the second time: %+v", attempt)
	}
	if n := bad.connections.accepted(); n != 0 {
		t.Errorf("there were %d connections, want none", n)
	}
	if n := names.lookups("turns.example.com"); n != 2 {
		t.Errorf("two attempts made %d lookups", n)
	}
	if attempt, _ := s.send(t.Context(), message("http://nobody.example.com/")); attempt.Error != "the host name nobody.example.com has no address" {
		t.Errorf("an unknown name: %+v", attempt)
	}
}
