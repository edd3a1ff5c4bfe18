package doctor

// checkPermissions does nothing. On Windows, a file's access control list decides who may use the file, and not the
// file's mode.
func (x *examiner) checkPermissions() {}
