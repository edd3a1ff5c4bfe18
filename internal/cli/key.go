package cli

import (
	"context"
	"fmt"
	"time"

	"animalstore/internal/shop"
)

type keysCommands struct {
	Create keysCreate `cmd:"" help:"Create a key and print it; it won't be shown again."`
	List   keysList   `cmd:"" help:"List the keys, newest first."`
	Rotate keysRotate `cmd:"" help:"Give a key a new secret and print it; the old one stays valid for a while."`
	Revoke keysRevoke `cmd:"" help:"Revoke a key; every node rejects it within a second."`
}

type keysCreate struct {
	databaseFlags
	timeFlag
	Name    string   `required:"" placeholder:"NAME" help:"Name of the key: who will use it."`
	Role    *string  `placeholder:"ROLE" xor:"permissions" help:"What the key may do: staff, partner-read, partner-order or admin (default admin)."`
	Scope   []string `placeholder:"SCOPE" xor:"permissions" help:"What the key may do, instead of a role: pets:read, pets:write, orders:read, orders:write, events:read, customers, admin."`
	Expires string   `placeholder:"TIME" help:"When the key expires, such as 90d, 2027-01-31 or 2027-01-31T18:00:00Z (default: never)."`
}

// Run prints only the secret to stdout, so that scripts can read it.
func (k *keysCreate) Run(ctx context.Context, t terminal) error {
	expires, err := k.parseFuture(k.Expires)
	if err != nil {
		return usagef("--expires: %w", err)
	}
	scopes, err := k.scopes()
	if err != nil {
		return err
	}
	wanted := shop.NewKey{Name: k.Name, Scopes: scopes, ExpiresAt: expires}
	flags := map[string]string{"name": "--name", "scopes": "--scope", "expiresAt": "--expires"}
	for member, reason := range wanted.Problems(time.Now()).All() {
		// The flags are checked before the database is opened, so that invalid flags do not create a database.
		return usagef("%s %s", flags[member], reason)
	}
	return k.withService(ctx, true, func(service *shop.Service) error {
		key, err := service.CreateKey(ctx, shop.Caller{}, wanted)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.err, "Created key %d (%s) for the %s environment, with %s. It won't be shown again.\n",
			key.ID, escapeControls(key.Name), service.Environment(), shop.ScopesText(key.Scopes))
		if k.Role == nil && k.Scope == nil {
			fmt.Fprintln(t.err, "The key may do everything, because neither --role nor --scope was given. For a person at the counter, use --role staff.")
		}
		_, err = fmt.Fprintln(t.out, key.Secret)
		return err
	})
}

// scopes returns the scopes that --scope or --role specifies. If neither flag is set, it returns the admin scope.
func (k *keysCreate) scopes() (scopes []shop.Scope, err error) {
	if len(k.Scope) > 0 {
		for _, scope := range k.Scope {
			scopes = append(scopes, shop.Scope(scope))
		}
		return scopes, nil
	}
	role := shop.RoleAdmin
	if k.Role != nil {
		role = shop.Role(*k.Role)
	}
	if scopes = role.Scopes(); scopes == nil {
		return nil, usagef("--role must be one of %s", shop.RolesText(shop.Roles()))
	}
	return scopes, nil
}

type keysList struct {
	databaseFlags
	timeFlag
}

func (k *keysList) Run(ctx context.Context, t terminal) error {
	return k.withService(ctx, false, func(service *shop.Service) error {
		list := newTable(t.out, "ID", "NAME", "SCOPES", "HINT", "CREATED", "EXPIRES", "LAST USED")
		list.color = wantsColor(t.out)
		request := shop.PageRequest{Limit: 100}
		for {
			page, err := service.ListKeys(ctx, request)
			if err != nil {
				return err
			}
			for _, key := range page.Items {
				list.add(formatInt(key.ID), key.Name, shop.ScopesText(key.Scopes), "…"+key.Hint,
					k.format(key.CreatedAt, ""), k.format(key.ExpiresAt, "never"), k.format(key.LastUsedAt, "not yet"))
				request.After = &key.ID
			}
			if !page.More {
				return list.flush()
			}
		}
	})
}

type keysRotate struct {
	databaseFlags
	ID      int64         `arg:"" help:"ID of the key, as shown by keys list."`
	Overlap time.Duration `default:"24h" placeholder:"DURATION" help:"How long the old secret stays valid, such as 90m, 24h or 3d (default ${default})."`
}

// Run prints only the secret to stdout, so that scripts can read it.
func (k *keysRotate) Run(ctx context.Context, t terminal) error {
	if reason := shop.OverlapProblem(k.Overlap); reason != "" {
		return usagef("--overlap: %s", reason)
	}
	return k.withService(ctx, false, func(service *shop.Service) error {
		key, err := service.RotateKey(ctx, shop.Caller{}, k.ID, k.Overlap)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.err, "Key %d (%s) has a new secret, which won't be shown again. The old one stays valid for %s.\n",
			key.ID, escapeControls(key.Name), formatDuration(k.Overlap))
		_, err = fmt.Fprintln(t.out, key.Secret)
		return err
	})
}

type keysRevoke struct {
	databaseFlags
	ID int64 `arg:"" help:"ID of the key, as shown by keys list."`
}

func (k *keysRevoke) Run(ctx context.Context, t terminal) error {
	return k.withService(ctx, false, func(service *shop.Service) error {
		if err := service.RevokeKey(ctx, shop.Caller{}, k.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(t.err, "Revoked key %d.\n", k.ID)
		return err
	})
}
