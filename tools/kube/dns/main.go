// CoreDNS with what a cluster's names take, and no plugin besides.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template" // says that there are no other names
)

func main() {
	// in this order a request passes them
	dnsserver.Directives = []string{"bind", "errors", "kubernetes", "template"}
	coremain.Run()
}
