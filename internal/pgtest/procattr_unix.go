//go:build unix

package pgtest

import (
	"os"
	"syscall"
)

// procAttr returns the attributes that make a command run in its own process group and as the given user.
func procAttr(uid, gid int) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if uid != os.Getuid() {
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attributes
}
