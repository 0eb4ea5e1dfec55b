{{/* What a schema cannot say; refused by name, before anything is rendered. */}}
{{- define "roundhouse.checks" -}}
{{- $v := .Values }}
{{- if and (eq $v.models.type "hostPath") (not $v.models.hostPath.path) }}
{{- fail "models.type is hostPath and models.hostPath.path is empty; name the folder on the machines" }}
{{- end }}
{{- if and (eq $v.models.type "initializer") (not $v.models.initializer.image) }}
{{- fail "models.type is initializer and models.initializer.image is empty; name the image that fetches the models" }}
{{- end }}
{{- if and (ne $v.tls.clientAuth "none") (not $v.tls.secretName) }}
{{- fail (printf "tls.clientAuth is %s and tls.secretName is empty; name the secret with tls.crt, tls.key and ca.crt" $v.tls.clientAuth) }}
{{- end }}
{{- $workers := $v.tls.workers }}
{{- if and $workers.secretName (ne $v.layout "split") }}
{{- fail "tls.workers.secretName is set and layout is node, whose workers only their own pod reaches; remove it" }}
{{- end }}
{{- if and $workers.secretName (not $workers.serverName) }}
{{- fail "tls.workers.secretName is set and tls.workers.serverName is empty; gateways find workers by addresses: say which name of the certificate they expect" }}
{{- end }}
{{- if and (or $workers.serverName $workers.mutual) (not $workers.secretName) }}
{{- fail "tls.workers.serverName or mutual is set and tls.workers.secretName is empty; name the secret with tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- $mode := dig "roundhouse" "gateway" "scheduling" "mode" "" (mergeOverwrite (deepCopy $v.config) (deepCopy $v.gateway.config)) }}
{{- if and (eq $v.layout "split") (regexMatch "^lpt[-_]?packing$" (toString $mode | lower)) (not $v.access.gatewayKeySecret) }}
{{- fail "scheduling.mode of the gateways is lpt_packing and access.gatewayKeySecret is empty: workers would let them change nothing. Make it by 'kubectl create secret generic gateway-key --from-literal=gateway-key=$(./roundhouse token --secret)' and name it" }}
{{- end }}
{{- if and $v.access.gatewayKeySecret (ne $v.layout "split") }}
{{- fail "access.gatewayKeySecret is set and layout is node, whose gateway and workers know each other by loopback; remove it" }}
{{- end }}
{{- if and $v.stream.enabled (ne $v.layout "split") }}
{{- fail "stream.enabled is true and layout is node, whose workers only their own pod reaches; set layout to split, or remove it" }}
{{- end }}
{{- if and $v.stream.enabled (has (int $v.stream.port) (list 8000 8001 8002)) }}
{{- fail (printf "stream.port is %d, which the worker has for something else; name another" (int $v.stream.port)) }}
{{- end }}
{{- if and $v.kserve.only (not $v.kserve.enabled) }}
{{- fail "kserve.only is true and kserve.enabled is not; enable it, or remove kserve.only" }}
{{- end }}
{{- if and $v.metrics.podMonitor.enabled $v.metrics.serviceMonitor.enabled }}
{{- fail "metrics.podMonitor and metrics.serviceMonitor are both enabled, and everything would be scraped twice; enable one" }}
{{- end }}
{{- if and $v.networkPolicy.egress.enabled (not $v.networkPolicy.egress.apiServer) (eq $v.layout "split") (eq $v.gateway.discovery "endpointSlices") }}
{{- fail "networkPolicy.egress is enabled and networkPolicy.egress.apiServer is empty: gateways could not ask for endpoints; name its address, or set gateway.discovery to dns" }}
{{- end }}
{{- if and $v.service.headless (ne $v.service.type "ClusterIP") }}
{{- fail (printf "service.headless is true and service.type is %s; a headless service has the type ClusterIP" $v.service.type) }}
{{- end }}
{{- $autoscaling := $v.gateway.autoscaling }}
{{- if and $autoscaling.enabled (not $autoscaling.cpuPercent) (not $autoscaling.metrics) }}
{{- fail "gateway.autoscaling is enabled with cpuPercent 0 and no metrics; set one" }}
{{- end }}
{{- if gt (int $autoscaling.minReplicas) (int $autoscaling.maxReplicas) }}
{{- fail (printf "gateway.autoscaling.minReplicas is %d, more than maxReplicas, which is %d" (int $autoscaling.minReplicas) (int $autoscaling.maxReplicas)) }}
{{- end }}
{{- range $name, $pool := include "roundhouse.pools" . | fromJson }}
{{- if and (eq $v.layout "split") (gt (int $pool.gpus) 1) }}
{{- fail (printf "pools.%s.gpus is %d; a worker has one GPU: set it to 1 and replicas to %d, or layout to node" $name (int $pool.gpus) (int $pool.gpus)) }}
{{- end }}
{{- if and (eq $v.layout "split") (gt (int $pool.cpuWorkers) 1) }}
{{- fail (printf "pools.%s.cpuWorkers is %d; a pod has one worker: raise replicas, or set layout to node" $name (int $pool.cpuWorkers)) }}
{{- end }}
{{- if and $pool.autoscaling.enabled (eq $pool.kind "DaemonSet") }}
{{- fail (printf "pools.%s.autoscaling is enabled and its kind is DaemonSet, which has a pod on each machine; make it a Deployment" $name) }}
{{- end }}
{{- if and $pool.autoscaling.enabled (not $pool.autoscaling.cpuPercent) (not $pool.autoscaling.device.averageValue) (not $pool.autoscaling.queue.averageValue) (not $pool.autoscaling.metrics) }}
{{- fail (printf "pools.%s.autoscaling is enabled without cpuPercent, device.averageValue, queue.averageValue or metrics; set one" $name) }}
{{- end }}
{{- if gt (int $pool.autoscaling.minReplicas) (int $pool.autoscaling.maxReplicas) }}
{{- fail (printf "pools.%s.autoscaling.minReplicas is %d, more than maxReplicas, which is %d" $name (int $pool.autoscaling.minReplicas) (int $pool.autoscaling.maxReplicas)) }}
{{- end }}
{{- if and (eq $pool.cache.type "template") (ne $pool.kind "StatefulSet") }}
{{- fail (printf "pools.%s.cache.type is template and its kind is %s; only a StatefulSet has a claim for each pod" $name $pool.kind) }}
{{- end }}
{{- if and (eq $pool.cache.type "pvc") (not $pool.cache.existingClaim) }}
{{- fail (printf "pools.%s.cache.type is pvc and its existingClaim is empty; name a claim that its pods may share" $name) }}
{{- end }}
{{- end }}
{{- end }}
