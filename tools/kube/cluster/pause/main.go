// The first container of a pod, which holds its network and ends when it is told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	<-told
}
