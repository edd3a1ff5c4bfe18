package doctor

import "animalstore/internal/server"

// checkOpenFiles compares the limit on open files with the number of connections that the service may have.
func (x *examiner) checkOpenFiles() {
	if possible := server.ConnectionLimit(x.MaxConnections); possible < x.MaxConnections {
		x.warn("open files", "Raise the limit (ulimit -n, LimitNOFILE= in systemd), or lower --max-connections. The metric process_max_fds shows that of a running service.",
			"the limit of this process allows %d connections of %d", possible, x.MaxConnections)
		return
	}
	x.ok("open files", "the limit of this process allows %d connections", x.MaxConnections)
}
