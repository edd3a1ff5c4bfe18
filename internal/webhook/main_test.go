package webhook

import (
	"testing"

	"animalstore/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
