package sqlstore

import (
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, pgtest.Shared(t).NewDatabase(t), Options{}) })
}
