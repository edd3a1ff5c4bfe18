package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// freeSpace returns the number of bytes that this user may still write to the disk that contains a folder.
func freeSpace(folder string) (uint64, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: folder, Err: err}
	}
	return free, nil
}

// sameDisk reports whether two folders are on the same volume.
func sameDisk(a, b string) bool {
	first, err := volume(a)
	if err != nil {
		return false
	}
	second, err := volume(b)
	return err == nil && strings.EqualFold(first, second) // D:\ and d:\ are the same path
}

// volume returns the path where the volume of a folder is mounted, such as D:\.
func volume(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return "", err
	}
	// The mount path is at most as long as the folder's path, plus a backslash and a NUL.
	mount := make([]uint16, len(folder)+2)
	if err := windows.GetVolumePathName(path, &mount[0], uint32(len(mount))); err != nil {
		return "", err
	}
	return windows.UTF16ToString(mount), nil
}
