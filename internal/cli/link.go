package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/staff"
)

// ownerName is the name of the first admin key.
const ownerName = "Owner"

// linkCommand creates a sign-in link for the staff pages. Like the keys commands, it works on the database itself, so
// somebody who has lost every key can still sign in.
type linkCommand struct {
	databaseFlags
	addressFlags
	PublicURL string  `name:"public-url" env:"ANIMALSTORE_PUBLIC_URL" placeholder:"URL" help:"Base URL that browsers use, ending in /v1 (default: the address of --addr, which works only on this computer)."`
	Key       *string `placeholder:"KEY" help:"ID or name of the key that the link signs in with (default: the oldest key with the role admin)."`
}

// Run prints only the link to stdout, so that scripts can read it.
func (l *linkCommand) Run(ctx context.Context, t terminal) error {
	if err := checkBaseURL(l.PublicURL); err != nil {
		return usagef("--public-url: %w", err)
	}
	if err := checkAddr(l.Addr); err != nil {
		return usagef("--addr: %w", err)
	}
	if l.Key != nil {
		if reason := shop.TextProblem(*l.Key); reason != "" {
			return usagef("--key %s", reason)
		}
	}
	base := strings.TrimSuffix(l.PublicURL, "/v1")
	if base == "" {
		if _, port, _ := net.SplitHostPort(l.Addr); port == "0" {
			return usagef("--addr: port 0 is not the port that the service listens on; its log says which one it is")
		}
		base = l.url()
	}
	return l.withService(ctx, false, func(service *shop.Service) error {
		id, err := l.keyID(ctx, service)
		if err != nil {
			return err
		}
		link, err := service.CreateSignInLink(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.err, "Open this link in a browser to sign in as %s. It works once, until %s.\n",
			escapeControls(link.KeyName), link.EndsAt.Local().Format("15:04"))
		_, err = fmt.Fprintln(t.out, staff.SignInLink(base, link.Token))
		return err
	})
}

// keyID returns the id of the key that --key names or, without that flag, of the oldest valid admin key. If there is none,
// it creates one.
func (l *linkCommand) keyID(ctx context.Context, service *shop.Service) (int64, error) {
	var found []int64
	for request := (shop.PageRequest{Limit: 100}); ; {
		page, err := service.ListKeys(ctx, request)
		if err != nil {
			return 0, err
		}
		for _, key := range page.Items { // the newest first
			request.After = &key.ID
			switch {
			case l.Key == nil && key.IsAdmin(time.Now()), l.Key != nil && strings.EqualFold(key.Name, *l.Key):
				found = append(found, key.ID)
			case l.Key != nil && formatInt(key.ID) == *l.Key:
				return key.ID, nil
			}
		}
		if !page.More {
			break
		}
	}
	slices.Reverse(found)
	switch {
	case l.Key == nil && len(found) == 0:
		key, err := service.CreateKey(ctx, shop.Caller{}, shop.NewKey{Name: ownerName, Scopes: shop.RoleAdmin.Scopes()})
		return key.ID, err
	case len(found) == 0:
		return 0, fmt.Errorf("there is no key %s; animalstore keys list shows the keys", *l.Key)
	case l.Key != nil && len(found) > 1:
		return 0, fmt.Errorf("several keys are called %s; name one of these IDs: %s", *l.Key, strings.Trim(strings.ReplaceAll(fmt.Sprint(found), " ", ", "), "[]"))
	}
	return found[0], nil
}
