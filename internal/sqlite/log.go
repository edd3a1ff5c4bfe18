package sqlite

import (
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// OpenWriter opens a database as Open does, for whoever commits a thousand times a second. SQLite writes each page of a commit
// to its log in two parts: more than forty writes for a group of animals. Here they are collected, and written before the log
// is synced or looked at; docs/decisions/020-straight-to-sqlite.md says what that is worth.
//
// Nothing is ever left collected. Others are told of a commit after the log was synced: synchronous is FULL, whatever the settings
// say. And only a commit writes: a transaction stays in memory until then, however large it is (cache_spill). The URI must not
// have psow=0: SQLite would write on after the sync.
//
// The log is moved to the database by Checkpoint alone, which has to be called behind a commit.
func OpenWriter(uri string, settings ...string) (*Conn, error) {
	settings = slices.Concat(settings, []string{"journal_mode(WAL)", "synchronous(FULL)", "cache_spill(0)"})
	c, err := open(uri, collector(), settings)
	if err != nil {
		return nil, err
	}
	if err := c.watchLog(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// collector makes a VFS, as SQLite calls what it reaches files through, and returns its name. It collects what is written to a
// log, and leaves all else to SQLite's own. On Windows it was not tried, and there is none: 0 stands for SQLite's own.
var collector = sync.OnceValue(func() (name uintptr) {
	if runtime.GOOS == "windows" {
		return 0
	}
	tls := libc.NewTLS()
	defer tls.Close()
	own, made := sqlite3.Xsqlite3_vfs_find(tls, 0), sqlite3.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	name, err := libc.CString("collector")
	if own == 0 || made == 0 || err != nil {
		return 0
	}
	vfs := at[sqlite3.Tsqlite3_vfs](made)
	*vfs = *at[sqlite3.Tsqlite3_vfs](own)
	vfs.FpNext, vfs.FpAppData, vfs.FzName = 0, own, name
	vfs.FszOsFile = (vfs.FszOsFile+7)&^7 + int32(unsafe.Sizeof(log{}))
	vfs.FxOpen = pointer(openFile)
	if sqlite3.Xsqlite3_vfs_register(tls, made, 0) != sqlite3.SQLITE_OK {
		return 0
	}
	return name
})

// log is a log whose writes are collected. It stands behind the file as SQLite's own VFS has it, in SQLite's memory.
type log struct {
	methods sqlite3.Tsqlite3_io_methods // what SQLite calls, which finds the log by it: the first of its members
	own     uintptr                     // the methods of SQLite's own VFS
	room    uintptr                     // for what is collected
	used    int32
	offset  int64 // of what is collected, in the file
}

// logRoom is how much is collected at most: fifteen pages. SQLite's own VFS takes less than 128 KB at once.
const logRoom = 64 << 10

// openFile is called for every file.
func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	own := at[sqlite3.Tsqlite3_vfs](vfs).FpAppData
	open := function[func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32](at[sqlite3.Tsqlite3_vfs](own).FxOpen)
	code := open(tls, own, name, file, flags, outFlags)
	if code != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return code
	}
	f := at[sqlite3.Tsqlite3_file](file)
	methods := *at[sqlite3.Tsqlite3_io_methods](f.FpMethods)
	room := sqlite3.Xsqlite3_malloc(tls, logRoom)
	if room == 0 {
		return code
	}
	place := file + uintptr(at[sqlite3.Tsqlite3_vfs](vfs).FszOsFile) - unsafe.Sizeof(log{})
	l := at[log](place)
	*l = log{methods: methods, own: f.FpMethods, room: room}
	l.methods.FxWrite, l.methods.FxSync, l.methods.FxRead = pointer(writeLog), pointer(syncLog), pointer(readLog)
	l.methods.FxTruncate, l.methods.FxFileSize, l.methods.FxClose = pointer(truncateLog), pointer(sizeOfLog), pointer(closeLog)
	f.FpMethods = place
	return code
}

func writeLog(tls *libc.TLS, file, from uintptr, length int32, offset int64) int32 {
	l, own := logOf(file)
	if follows := offset == l.offset+int64(l.used); !follows || l.used+length > logRoom {
		if code := l.flush(tls, file); code != sqlite3.SQLITE_OK {
			return code
		}
	}
	if length > logRoom {
		return function[transfer](own.FxWrite)(tls, file, from, length, offset)
	}
	if l.used == 0 {
		l.offset = offset
	}
	copy(libc.GoBytes(l.room+uintptr(l.used), int(length)), libc.GoBytes(from, int(length)))
	l.used += length
	return sqlite3.SQLITE_OK
}

// transfer is how reading and writing look.
type transfer = func(tls *libc.TLS, file, memory uintptr, length int32, offset int64) int32

// flush writes what is collected. What cannot be written is forgotten, as SQLite gives up the commit that it is part of.
func (l *log) flush(tls *libc.TLS, file uintptr) int32 {
	length := l.used
	if length == 0 {
		return sqlite3.SQLITE_OK
	}
	l.used = 0
	return function[transfer](at[sqlite3.Tsqlite3_io_methods](l.own).FxWrite)(tls, file, l.room, length, l.offset)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	l, own := logOf(file)
	if code := l.flush(tls, file); code != sqlite3.SQLITE_OK {
		return code
	}
	return function[func(tls *libc.TLS, file uintptr, flags int32) int32](own.FxSync)(tls, file, flags)
}

func readLog(tls *libc.TLS, file, to uintptr, length int32, offset int64) int32 {
	l, own := logOf(file)
	if code := l.flush(tls, file); code != sqlite3.SQLITE_OK {
		return code
	}
	return function[transfer](own.FxRead)(tls, file, to, length, offset)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	l, own := logOf(file)
	if code := l.flush(tls, file); code != sqlite3.SQLITE_OK {
		return code
	}
	return function[func(tls *libc.TLS, file uintptr, size int64) int32](own.FxTruncate)(tls, file, size)
}

func sizeOfLog(tls *libc.TLS, file, into uintptr) int32 {
	l, own := logOf(file)
	if code := l.flush(tls, file); code != sqlite3.SQLITE_OK {
		return code
	}
	return function[func(tls *libc.TLS, file, into uintptr) int32](own.FxFileSize)(tls, file, into)
}

// closeLog forgets what is collected, if anything: nobody was told of it.
func closeLog(tls *libc.TLS, file uintptr) int32 {
	l, own := logOf(file)
	sqlite3.Xsqlite3_free(tls, l.room)
	at[sqlite3.Tsqlite3_file](file).FpMethods = l.own
	return function[func(tls *libc.TLS, file uintptr) int32](own.FxClose)(tls, file)
}

// logOf returns the log of a file, and the methods of SQLite's own VFS.
func logOf(file uintptr) (*log, *sqlite3.Tsqlite3_io_methods) {
	l := at[log](at[sqlite3.Tsqlite3_file](file).FpMethods)
	return l, at[sqlite3.Tsqlite3_io_methods](l.own)
}

// at returns what stands at an address of SQLite's memory, which Go does not move.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// pointer is what SQLite, as it was translated to Go, takes for a pointer to a function.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// function is the function that such a pointer points to.
func function[F any](pointer uintptr) F { return *(*F)(unsafe.Pointer(&pointer)) }
