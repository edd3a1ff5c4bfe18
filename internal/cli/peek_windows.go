package cli

import "net"

// canPeek tells whether hasGone knows.
const canPeek = false

func hasGone(*net.TCPConn) bool { return false }
