package shell

import "golang.org/x/sys/unix"

func selects() []int64 { return []int64{unix.SYS_SELECT, unix.SYS_PSELECT6} }
func polls() []int64   { return []int64{unix.SYS_POLL, unix.SYS_PPOLL} }
func epolls() []int64  { return []int64{unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT} }
