package webhook

import (
	"fmt"
	"net/netip"
)

// addressError reports that a webhook's address is not public.
type addressError struct {
	addr netip.Addr
	kind string
}

func (r *addressError) Error() string {
	return fmt.Sprintf("the address %s is %s; webhooks may only use public addresses unless the service allows private ones",
		r.addr, r.kind)
}

// nonPublicRanges lists the address ranges in IPv4 and in 2000::/3 that are not publicly reachable.
var nonPublicRanges = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "private"}, // used for carrier-grade NAT
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"}, // includes the metadata services of cloud providers
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved"},
	{netip.MustParsePrefix("192.88.99.0/24"), "reserved"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved"},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved"},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // used for protocol assignments, including Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "reserved"},
	{netip.MustParsePrefix("3fff::/20"), "reserved"},
}

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// requirePublic returns an error for an address that is not publicly reachable.
func requirePublic(addr netip.Addr) error {
	if kind := nonPublicKind(addr); kind != "" {
		return &addressError{addr, kind}
	}
	return nil
}

// nonPublicKind returns the kind of a non-public address, such as "private", or "" if the address is public.
// In IPv6, only addresses in 2000::/3 can be public.
func nonPublicKind(addr netip.Addr) string {
	if addr.Zone() != "" {
		return "link-local"
	}
	addr = addr.Unmap()
	if inside, ok := embeddedIPv4(addr); ok {
		return nonPublicKind(inside)
	}
	for _, part := range nonPublicRanges {
		if part.prefix.Contains(addr) {
			return part.kind
		}
	}
	switch {
	case addr.Is4() || globalIPv6.Contains(addr):
		return ""
	case addr.IsUnspecified():
		return "unspecified"
	case addr.IsLoopback():
		return "loopback"
	case addr.IsPrivate():
		return "private"
	case addr.IsLinkLocalUnicast():
		return "link-local"
	case addr.IsMulticast():
		return "multicast"
	}
	return "reserved"
}

// embeddedIPv4 returns the IPv4 address inside a NAT64 or 6to4 address. Packets sent to the IPv6 address end
// up at this IPv4 address. For any other address, embeddedIPv4 returns false.
func embeddedIPv4(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}
