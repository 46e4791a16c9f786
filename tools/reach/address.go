// Package reach connects to servers at checked addresses.
//
// # Not here
//
// Which tool may reach which server: the definitions of tools (tools/manifest), and grants.
package reach

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// DialTime bounds how long a connection takes to be made.
const DialTime = 10 * time.Second

// Denied is the error of an address that may not be reached.
type Denied struct{ Server, Address string }

func (d *Denied) Error() string {
	return fmt.Sprintf("%s has the address %s, which is not public; the tool needs net:%s", d.Server, d.Address, d.Server)
}

// Dial connects to a server, "host:port", whose address is public, or special and allowed:
// the check is made of the address that the connection is opened to.
func Dial(ctx context.Context, network, server string, special func(netip.Addr) bool) (net.Conn, error) {
	d := net.Dialer{Timeout: DialTime, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err == nil && !public(to.Addr()) && !special(to.Addr().Unmap()) {
			err = &Denied{server, to.Addr().String()}
		}
		return err
	}}
	return d.DialContext(ctx, network, server)
}

// public reports whether an address belongs to the public internet. Addresses that lead to
// an IPv4 address by another network are not public, since nobody checks where they end.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.Zone() != "" {
		return false
	}
	for _, special := range specials() {
		if special.Contains(a) {
			return false
		}
	}
	return true
}

// specials are networks of the registries of special addresses (RFC 6890 and what came
// later) that the standard library takes for global.
func specials() []netip.Prefix {
	var list []netip.Prefix
	for _, s := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}
