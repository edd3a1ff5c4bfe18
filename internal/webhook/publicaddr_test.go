package webhook

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
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
		"private": `10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 172.16.0.1 172.31.255.255 192.168.0.1 fc00::1 fdff::ffff
			::ffff:10.0.0.1 ::ffff:c0a8:1 64:ff9b::a00:1 64:ff9b::c0a8:101 2002:a00:1::1 2002:c0a8:101::`,
		"loopback":   "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
		"link-local": "169.254.169.254 169.254.0.1 fe80::1 febf::1 2606:4700::1111%eth0 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
		"multicast":  "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
		"reserved": `192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1
			255.255.255.255 ::2 ::7f00:1 ::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 3fff::1 fec0::1 4000::1`,
	} {
		for address := range strings.FieldsSeq(addresses) {
			addr := netip.MustParseAddr(address)
			want := "the address " + addr.String() + " is " + kind + ";"
			if err := requirePublic(addr); (err == nil) != (kind == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s (%s): %v", address, kind, err)
			}
		}
	}
}

// dnsServer is a DNS server that answers with configured addresses and counts the lookups.
type dnsServer struct {
	answers map[string][]string // the addresses of each name, one for each lookup; later lookups get the last one
	lookups atomic.Int32
}

func (s *dnsServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go s.answer(there)
		return here, nil
	}}
}

// answer answers one query, which is preceded by its length. Each lookup sends an A query and an AAAA query, so only
// the A queries are counted.
func (s *dnsServer) answer(conn net.Conn) {
	defer conn.Close()
	var message dnsmessage.Message
	packet := make([]byte, 512)
	io.ReadFull(conn, packet[:2])
	if n, _ := io.ReadFull(conn, packet[:binary.BigEndian.Uint16(packet)]); message.Unpack(packet[:n]) != nil {
		return
	}
	question := message.Questions[0]
	message.Header = dnsmessage.Header{ID: message.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	message.Additionals = nil
	if addresses := s.answers[strings.TrimSuffix(question.Name.String(), ".")]; len(addresses) == 0 {
		message.RCode = dnsmessage.RCodeNameError
	} else {
		address := netip.MustParseAddr(addresses[min(int(s.lookups.Load()), len(addresses)-1)])
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}
		if question.Type == dnsmessage.TypeA {
			s.lookups.Add(1)
		}
		if address.Is4() && question.Type == dnsmessage.TypeA {
			message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
		} else if address.Is6() && question.Type == dnsmessage.TypeAAAA {
			message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
		}
	}
	packed, _ := message.Pack()
	conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...))
}

// If a host name resolves to a private address, the connection is refused.
func TestNamesOfPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := newReceiver(t, nil)
	names := map[string][]string{
		"loopback.example.com": {"127.0.0.1"}, "metadata.example.com": {"169.254.169.254"}, "zero.example.com": {"0.0.0.0"},
		"loopback6.example.com": {"::1"}, "local6.example.com": {"fc00::1"}, "mapped.example.com": {"::ffff:127.0.0.1"},
	}
	s := newSender("v1", requirePublic, (&dnsServer{answers: names}).resolver())
	defer s.close()
	for name, addresses := range names {
		attempt, _ := s.send(t.Context(), message("http://"+name+":"+server.port+"/"))
		address := netip.MustParseAddr(addresses[0])
		if attempt.Error != requirePublic(address.Unmap()).Error() && (address.Is4() || hasIPv6()) {
			t.Errorf("%s: %+v", name, attempt)
		}
	}
	system := newSender("v1", requirePublic, nil)
	defer system.close()
	for _, host := range []string{"127.0.0.1", "LOCALHOST", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "017700000001",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:0001]"} {
		if attempt, _ := system.send(t.Context(), message("http://"+host+":"+server.port)); attempt.Status != 0 || attempt.Error == "" {
			t.Errorf("%s: %+v", host, attempt)
		}
	}
	server.wantNoConnection(t)
}

func hasIPv6() bool {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		listener.Close()
	}
	return err == nil
}

// The check applies to exactly the address that is dialled. If the check looked up the name separately, the name could
// resolve to a public address for the check and to a private one for the connection (DNS rebinding).
func TestAddressIsCheckedWhenConnecting(t *testing.T) {
	t.Parallel()
	good, bad := newReceiver(t, nil), newReceiver(t, nil, "127.0.0.2:0")
	names := &dnsServer{answers: map[string][]string{"turns.example.com": {"127.0.0.1", "127.0.0.2"}}}
	s := newSender("v1", func(addr netip.Addr) error {
		if addr == netip.MustParseAddr("127.0.0.1") {
			return nil // this address stands in for a public one
		}
		return requirePublic(addr)
	}, names.resolver())
	defer s.close()
	const url = "http://turns.example.com:"
	if attempt, _ := s.send(t.Context(), message(url+good.port)); attempt.Status != 200 {
		t.Errorf("the first time: %+v", attempt)
	}
	if attempt, _ := s.send(t.Context(), message(url+bad.port)); !strings.Contains(attempt.Error, "127.0.0.2 is loopback") {
		t.Errorf("the second time: %+v", attempt)
	}
	bad.wantNoConnection(t)
	if n := names.lookups.Load(); n != 2 {
		t.Errorf("two attempts made %d lookups", n)
	}
}
