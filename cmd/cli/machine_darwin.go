package cli

import "syscall"

// machineID is the kernel's id of the machine.
func machineID() string {
	id, err := syscall.Sysctl("kern.uuid")
	if err != nil {
		return ""
	}
	return id
}
