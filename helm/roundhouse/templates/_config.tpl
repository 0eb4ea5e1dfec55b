{{/* Dotted keys of a document, canonical as Spring compares them (lower case, no dashes), one a line: prefix, at */}}
{{- define "roundhouse.keys" -}}
{{- $prefix := .prefix }}
{{- range $key, $value := .at }}
{{- $dotted := printf "%s%s" $prefix ($key | toString | lower | replace "-" "" | replace "_" "") }}
{{- if and (kindIs "map" $value) $value }}
{{- include "roundhouse.keys" (dict "prefix" (printf "%s." $dotted) "at" $value) }}
{{- else }}
{{ $dotted }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses what the chart decides by values of its own: config, where (its name in values), owned {KEY: VALUE'S NAME} */}}
{{- define "roundhouse.refuseOwned" -}}
{{- $where := .where }}
{{- $owned := .owned }}
{{- range $key := include "roundhouse.keys" (dict "prefix" "" "at" .config) | splitList "\n" }}
{{- range $mine, $value := $owned }}
{{- $canonical := $mine | replace "-" "" }}
{{- if and $key (or (eq $key $canonical) (hasPrefix (printf "%s." $canonical) $key) (hasPrefix (printf "%s[" $canonical) $key)) }}
{{- fail (printf "%s sets %s, which the chart decides; remove it, and set %s instead" $where $mine $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Settings of the ports that clients connect to, by the secret: root */}}
{{- define "roundhouse.tls" -}}
spring:
  ssl:
    bundle:
      pem:
        public:
          keystore:
            certificate: file:/etc/roundhouse/tls/tls.crt
            private-key: file:/etc/roundhouse/tls/tls.key
          {{- if ne .Values.tls.clientAuth "none" }}
          truststore:
            certificate: file:/etc/roundhouse/tls/ca.crt
          {{- end }}
{{- end }}

{{- define "roundhouse.tlsOwned" -}}
{{- if .Values.tls.secretName }}
spring.grpc.server.ssl: tls
server.ssl: tls
spring.ssl.bundle.pem.public: tls
{{- end }}
server.port: service.httpPort
spring.grpc.server.port: service.grpcPort
management.server: a monitor of metrics
{{- end }}

{{- define "roundhouse.serverClientAuth" -}}
{{- get (dict "none" "none" "optional" "want" "require" "need") .Values.tls.clientAuth }}
{{- end }}

{{- define "roundhouse.tlsServer" -}}
spring:
  grpc:
    server:
      ssl:
        bundle: public
        client-auth: {{ .Values.tls.clientAuth }}
server:
  ssl:
    bundle: public
    client-auth: {{ include "roundhouse.serverClientAuth" . }}
# probes have no certificate; without this the port for metrics is as the server's is
management:
  server:
    ssl:
      enabled: false
{{- end }}

{{/* How gateways reach workers by TLS: root */}}
{{- define "roundhouse.tlsToWorkers" -}}
spring:
  ssl:
    bundle:
      pem:
        workers:
          truststore:
            certificate: file:/etc/roundhouse/worker-tls/ca.crt
          {{- if .Values.tls.workers.mutual }}
          keystore:
            certificate: file:/etc/roundhouse/worker-tls/tls.crt
            private-key: file:/etc/roundhouse/worker-tls/tls.key
          {{- end }}
roundhouse:
  gateway:
    tls:
      bundle: workers
      server-name: {{ .Values.tls.workers.serverName | quote }}
{{- end }}

{{/* The ports of a worker that gateways reach by TLS: root */}}
{{- define "roundhouse.tlsOfWorkers" -}}
{{- $auth := .Values.tls.workers.mutual }}
spring:
  ssl:
    bundle:
      pem:
        workers:
          keystore:
            certificate: file:/etc/roundhouse/worker-tls/tls.crt
            private-key: file:/etc/roundhouse/worker-tls/tls.key
          {{- if $auth }}
          truststore:
            certificate: file:/etc/roundhouse/worker-tls/ca.crt
          {{- end }}
  grpc:
    server:
      ssl:
        bundle: workers
        client-auth: {{ ternary "require" "none" $auth }}
server:
  ssl:
    bundle: workers
    client-auth: {{ ternary "need" "none" $auth }}
# probes have no certificate
management:
  server:
    ssl:
      enabled: false
{{- end }}

{{/* application.yaml of the gateways: root */}}
{{- define "roundhouse.gatewayConfig" -}}
{{- $v := .Values }}
{{- $owned := include "roundhouse.tlsOwned" . | fromYaml }}
{{- $_ := set $owned "roundhouse.gateway.shutdown" "gateway.stop" }}
{{- $_ := set $owned "roundhouse.gateway.discovery" "gateway.discovery" }}
{{- if $v.tls.workers.secretName }}
{{- $_ := set $owned "roundhouse.gateway.tls" "tls.workers" }}
{{- $_ := set $owned "spring.ssl.bundle.pem.workers" "tls.workers" }}
{{- end }}
{{- $discovery := dict "dns" (printf "%s.%s.svc" (include "roundhouse.workersService" .) .Release.Namespace) }}
{{- if eq $v.gateway.discovery "endpointSlices" }}
{{- $discovery = dict "service" (printf "%s/%s" .Release.Namespace (include "roundhouse.workersService" .)) }}
{{- end }}
{{- if $v.access.gatewayKeySecret }}
{{- $_ := set $owned "roundhouse.gateway.access.gateway-key-files" "access.gatewayKeySecret" }}
{{- end }}
{{- include "roundhouse.refuseOwned" (dict "config" $v.config "where" "config" "owned" $owned) }}
{{- include "roundhouse.refuseOwned" (dict "config" $v.gateway.config "where" "gateway.config" "owned" $owned) }}
{{- $own := dict "roundhouse" (dict "gateway" (dict
      "discovery" $discovery
      "shutdown" (dict "lame-duck" (printf "%ds" (int $v.gateway.stop.lameDuckSeconds)) "drain" (printf "%ds" (int $v.gateway.stop.drainSeconds))))) }}
{{- if $v.tls.secretName }}
{{- $own = mergeOverwrite $own (include "roundhouse.tls" . | fromYaml) (include "roundhouse.tlsServer" . | fromYaml) }}
{{- end }}
{{- if $v.tls.workers.secretName }}
{{- $own = mergeOverwrite $own (include "roundhouse.tlsToWorkers" . | fromYaml) }}
{{- end }}
{{- if $v.access.gatewayKeySecret }}
{{- $own = mergeOverwrite $own (dict "roundhouse" (dict "gateway" (dict "access" (dict "gateway-key-files" (list "/etc/roundhouse/gateway-key/gateway-key"))))) }}
{{- end }}
{{- /* a monitor scrapes workers' pods, and with several gateways each would have all of them again */}}
{{- $scraped := dict "roundhouse" (dict "gateway" (dict "metrics" (dict "workers" false))) }}
{{- toYaml (mergeOverwrite $scraped (deepCopy $v.config) (deepCopy $v.gateway.config) $own) }}
{{- end }}

{{/* application.yaml of a pool: root, name, pool */}}
{{- define "roundhouse.poolConfig" -}}
{{- $v := .root.Values }}
{{- $owned := dict
      "server.port" "service.httpPort"
      "spring.grpc.server.port" "service.grpcPort"
      "management.server" "a monitor of metrics"
      "roundhouse.worker.repository.directories" "models.directory"
      "roundhouse.worker.device.platform" "gpus of the pool"
      "roundhouse.worker.server.lame-duck" "stop.lameDuckSeconds of the pool"
      "roundhouse.worker.shutdown.drain" "stop.drainSeconds of the pool" }}
{{- $own := dict }}
{{- if eq $v.layout "split" }}
{{- $own = include "roundhouse.workerConfig" . | fromYaml }}
{{- if $v.stream.enabled }}
{{- $stream := dict "port" (int $v.stream.port) }}
{{- if $v.tls.workers.secretName }}
{{- $_ := set $stream "ssl" (dict "bundle" "workers") }}
{{- end }}
{{- $own = mergeOverwrite $own (dict "roundhouse" (dict "worker" (dict "stream" $stream))) }}
{{- $owned = mergeOverwrite $owned (dict "roundhouse.worker.stream.port" "stream.port" "roundhouse.worker.stream.ssl.bundle" "tls.workers") }}
{{- end }}
{{- if $v.tls.workers.secretName }}
{{- $own = mergeOverwrite $own (include "roundhouse.tlsOfWorkers" .root | fromYaml) }}
{{- $owned = mergeOverwrite $owned (dict
      "spring.grpc.server.ssl" "tls.workers"
      "server.ssl" "tls.workers"
      "spring.ssl.bundle.pem.workers" "tls.workers") }}
{{- end }}
{{- if $v.access.gatewayKeySecret }}
{{- $own = mergeOverwrite $own (dict "roundhouse" (dict "worker" (dict "access" (dict "gateway-key-files" (list "/etc/roundhouse/gateway-key/gateway-key"))))) }}
{{- $owned = mergeOverwrite $owned (dict "roundhouse.worker.access.gateway-key-files" "access.gatewayKeySecret") }}
{{- end }}
{{- else }}
{{- $owned = mergeOverwrite $owned (dict
      "roundhouse.node.ports" "service"
      "roundhouse.node.devices.gpus" "gpus of the pool"
      "roundhouse.node.devices.platform" "gpus of the pool"
      "roundhouse.node.devices.cpu-workers" "cpuWorkers of the pool"
      "roundhouse.node.gateway.stop-grace" "stop of the pool"
      "roundhouse.node.worker.stop-grace" "stop of the pool"
      "roundhouse.gateway.shutdown" "stop of the pool") }}
{{- if $v.tls.secretName }}
{{- $owned = mergeOverwrite $owned (dict
      "roundhouse.node.gateway.arguments" "tls"
      "roundhouse.node.worker.arguments" "tls"
      "spring.grpc.server.ssl" "tls"
      "server.ssl" "tls"
      "spring.ssl.bundle.pem.public" "tls") }}
{{- end }}
{{- $own = include "roundhouse.nodeConfig" . | fromYaml }}
{{- end }}
{{- include "roundhouse.refuseOwned" (dict "config" $v.config "where" "config" "owned" $owned) }}
{{- include "roundhouse.refuseOwned" (dict "config" .pool.config "where" (printf "config of pool %s" .name) "owned" $owned) }}
{{- /* who may write to the repository runs no code here unless the config says so */}}
{{- $hooks := dict "roundhouse" (dict "worker" (dict "hooks" (dict "mode" "deny"))) }}
{{- toYaml (mergeOverwrite $hooks (deepCopy $v.config) (deepCopy .pool.config) $own) }}
{{- end }}

{{/* A worker that is a pod: root, pool */}}
{{- define "roundhouse.workerConfig" -}}
roundhouse:
  worker:
    repository:
      directories: [{{ .root.Values.models.directory | quote }}]
    server:
      lame-duck: {{ int .pool.stop.lameDuckSeconds }}s
    shutdown:
      drain: {{ int .pool.stop.drainSeconds }}s
{{- end }}

{{/* A node: what stops first (the gateway, or the only worker) is what serves on and drains. */}}
{{- define "roundhouse.nodeConfig" -}}
{{- $alone := eq (include "roundhouse.workers" .) "1" }}
{{- $grace := printf "%ds" (int (include "roundhouse.frontGrace" .)) }}
{{- $config := dict }}
{{- $node := dict }}
{{- if .root.Values.tls.secretName }}
{{- $config = include "roundhouse.tls" .root | fromYaml }}
{{- /* as arguments, for the document is the supervisor's too, whose port stays as it is */}}
{{- $_ := set $node (ternary "worker" "gateway" $alone) (dict "arguments" (list
      "--spring.grpc.server.ssl.bundle=public"
      (printf "--spring.grpc.server.ssl.client-auth=%s" .root.Values.tls.clientAuth)
      "--server.ssl.bundle=public"
      (printf "--server.ssl.client-auth=%s" (include "roundhouse.serverClientAuth" .root))
      "--management.server.ssl.enabled=false")) }}
{{- end }}
{{- $stop := dict "lame-duck" (printf "%ds" (int .pool.stop.lameDuckSeconds)) "drain" (printf "%ds" (int .pool.stop.drainSeconds)) }}
{{- $worker := dict "repository" (dict "directories" (list .root.Values.models.directory)) }}
{{- if .pool.gpus }}
{{- $_ := set $node "devices" (dict "gpus" "auto") }}
{{- else }}
{{- $_ := set $node "devices" (dict "cpu-workers" (int .pool.cpuWorkers)) }}
{{- end }}
{{- if $alone }}
{{- $_ := set $worker "server" (dict "lame-duck" (get $stop "lame-duck")) }}
{{- $_ := set $worker "shutdown" (dict "drain" (get $stop "drain")) }}
{{- $_ := set $node "worker" (mergeOverwrite (default dict $node.worker) (dict "stop-grace" $grace)) }}
{{- $config = mergeOverwrite $config (dict "roundhouse" (dict "worker" $worker "node" $node)) }}
{{- else }}
{{- $_ := set $node "gateway" (mergeOverwrite (default dict $node.gateway) (dict "stop-grace" $grace)) }}
{{- $config = mergeOverwrite $config (dict "roundhouse" (dict "worker" $worker "node" $node "gateway" (dict "shutdown" $stop))) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Seconds of what clients' calls reach, from SIGTERM until it has ended by itself: pool */}}
{{- define "roundhouse.frontGrace" -}}
{{- add (int .pool.stop.lameDuckSeconds) (int .pool.stop.drainSeconds) 5 }}
{{- end }}

{{/* Of a pod of a pool: root, pool. 15 s are roundhouse.node.worker.stop-grace, of workers that stop after their gateway. */}}
{{- define "roundhouse.poolGrace" -}}
{{- $front := int (include "roundhouse.frontGrace" .) }}
{{- if and (eq .root.Values.layout "node") (ne (include "roundhouse.workers" .) "1") }}
{{- $front = add $front 15 }}
{{- end }}
{{- add $front 10 }}
{{- end }}
