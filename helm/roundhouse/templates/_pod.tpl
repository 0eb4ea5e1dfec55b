{{/* Environment of every container: Spring's configuration beside what the image has, the cache, and yours: of (gateway
or a pool), device (variables that say what it runs on) */}}
{{- define "roundhouse.environment" -}}
env:
  - name: SPRING_CONFIG_ADDITIONAL_LOCATION
    value: file:/etc/roundhouse/config/
  - name: ROUNDHOUSE_CACHE
    value: /var/cache/roundhouse
  {{- range $name, $value := .device }}
  - name: {{ $name }}
    value: {{ $value }}
  {{- end }}
  {{- with .of.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .of.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Live: the process answers, and its engine has not failed. Ready: models are loaded, a worker is there. A worker that
loads for an hour is alive all the while, so only the time to its open port is bounded: port, startupSeconds */}}
{{- define "roundhouse.probes" -}}
startupProbe:
  httpGet: {path: /actuator/health/liveness, port: {{ .port }}}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: {{ max 1 (div (int .startupSeconds) 2) }}
livenessProbe:
  httpGet: {path: /actuator/health/liveness, port: {{ .port }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /actuator/health/readiness, port: {{ .port }}}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{/* Where pods go: root, of (gateway or a pool), labels (that select its pods) */}}
{{- define "roundhouse.placement" -}}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- $labels := .labels }}
{{- $of := .of }}
{{- if and (or .of.spread.zones .of.spread.hosts) (ne (default "" .of.kind) "DaemonSet") }}
topologySpreadConstraints:
  {{- range $key, $topology := dict "zones" "topology.kubernetes.io/zone" "hosts" "kubernetes.io/hostname" }}
  {{- with index $of.spread $key }}
  - maxSkew: 1
    topologyKey: {{ $topology }}
    whenUnsatisfiable: {{ . }}
    labelSelector:
      matchLabels:
        {{- $labels | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What every pod says of itself: root, account, token (whether it asks the API server) */}}
{{- define "roundhouse.podBasics" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ .token }}
# variables of services would be taken for settings
enableServiceLinks: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "roundhouse.containerSecurity" -}}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "roundhouse.tlsMount" -}}
- name: tls
  mountPath: /etc/roundhouse/tls
  readOnly: true
{{- end }}

{{- define "roundhouse.tlsVolume" -}}
- name: tls
  secret:
    secretName: {{ .Values.tls.secretName }}
    # the files belong to root and fsGroup
    defaultMode: 0440
{{- end }}

{{- define "roundhouse.workerTlsMount" -}}
- name: worker-tls
  mountPath: /etc/roundhouse/worker-tls
  readOnly: true
{{- end }}

{{- define "roundhouse.workerTlsVolume" -}}
- name: worker-tls
  secret:
    secretName: {{ .Values.tls.workers.secretName }}
    # the files belong to root and fsGroup
    defaultMode: 0440
{{- end }}

{{/* Where the files of access are: root */}}
{{- define "roundhouse.accessMounts" -}}
{{- if .Values.access.tokensSecret }}
- name: tokens
  mountPath: /etc/roundhouse/tokens
  readOnly: true
{{- end }}
{{- if .Values.access.gatewayKeySecret }}
- name: gateway-key
  mountPath: /etc/roundhouse/gateway-key
  readOnly: true
{{- end }}
{{- end }}

{{/* The files belong to root and fsGroup: root */}}
{{- define "roundhouse.accessVolumes" -}}
{{- with .Values.access.tokensSecret }}
- name: tokens
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.access.gatewayKeySecret }}
- name: gateway-key
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* The volume of the model repository: root */}}
{{- define "roundhouse.modelsVolume" -}}
- name: models
  {{- if eq .Values.models.type "pvc" }}
  persistentVolumeClaim:
    claimName: {{ include "roundhouse.modelsClaim" . }}
    {{- if .Values.models.readOnly }}
    readOnly: true
    {{- end }}
  {{- else if eq .Values.models.type "hostPath" }}
  hostPath:
    {{- toYaml .Values.models.hostPath | nindent 4 }}
  {{- else if and (eq .Values.models.type "initializer") .Values.models.initializer.sizeLimit }}
  emptyDir:
    sizeLimit: {{ .Values.models.initializer.sizeLimit }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}

{{/* What a pool's pods are made from: root, name, pool */}}
{{- define "roundhouse.poolPod" -}}
{{- $v := .root.Values }}
{{- $of := include "roundhouse.pooled" .root }}
{{- $labels := include "roundhouse.poolSelector" . }}
{{- $front := eq $of "node" }}
{{- /* variables, for an image has them too and they win over a document */}}
{{- $platform := ternary "cuda" "cpu" (gt (int .pool.gpus) 0) }}
{{- $device := dict "ROUNDHOUSE_WORKER_DEVICE_PLATFORM" $platform }}
{{- if $front }}
{{- $_ := set $device "ROUNDHOUSE_NODE_DEVICES_PLATFORM" $platform }}
{{- end }}
metadata:
  labels:
    {{- include "roundhouse.podLabels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ $of }}
    roundhouse.dev/pool: {{ .name }}
    {{- with .pool.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ $of }}
    roundhouse.dev/config-checksum: {{ include "roundhouse.poolConfig" . | sha256sum }}
    {{- with .pool.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "roundhouse.podBasics" (dict "root" .root "account" (include "roundhouse.poolAccount" .root) "token" false) | nindent 2 }}
  {{- with .pool.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- include "roundhouse.placement" (dict "root" .root "of" .pool "labels" $labels) | nindent 2 }}
  # lame duck, drain, and what ends after them
  terminationGracePeriodSeconds: {{ include "roundhouse.poolGrace" . }}
  {{- if eq $v.models.type "initializer" }}
  {{- with $v.models.initializer }}
  initContainers:
    - name: models
      image: {{ .image }}
      imagePullPolicy: {{ $v.images.pullPolicy }}
      {{- with .command }}
      command:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .args }}
      args:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .env }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "roundhouse.containerSecurity" $.root | nindent 6 }}
      volumeMounts:
        - name: models
          mountPath: {{ $v.models.directory }}
        - name: tmp
          mountPath: /tmp
  {{- end }}
  {{- end }}
  containers:
    - name: {{ $of }}
      image: {{ include "roundhouse.image" (dict "root" .root "of" $of "own" .pool.image) }}
      imagePullPolicy: {{ $v.images.pullPolicy }}
      {{- include "roundhouse.environment" (dict "of" .pool "device" $device) | nindent 6 }}
      ports:
        - name: grpc
          containerPort: 8001
        - name: http
          containerPort: 8000
        - name: metrics
          containerPort: 8002
        {{- if $v.stream.enabled }}
        - name: stream
          containerPort: {{ $v.stream.port }}
        {{- end }}
        {{- if $front }}
        - name: node
          containerPort: 8003
        {{- end }}
      {{- include "roundhouse.probes" (dict "port" (ternary "node" "metrics" $front) "startupSeconds" .pool.startupSeconds) | nindent 6 }}
      resources:
        {{- include "roundhouse.poolResources" .pool | nindent 8 }}
      {{- include "roundhouse.containerSecurity" .root | nindent 6 }}
      volumeMounts:
        - name: config
          mountPath: /etc/roundhouse/config
          readOnly: true
        - name: models
          mountPath: {{ $v.models.directory }}
          {{- if and (eq $v.models.type "pvc") $v.models.pvc.subPath }}
          subPath: {{ $v.models.pvc.subPath }}
          {{- end }}
          {{- if and $v.models.readOnly (ne $v.models.type "emptyDir") }}
          readOnly: true
          {{- end }}
        - name: cache
          mountPath: /var/cache/roundhouse
        - name: tmp
          mountPath: /tmp
        {{- if .pool.shm.enabled }}
        - name: shm
          mountPath: /dev/shm
        {{- end }}
        {{- if and $front $v.tls.secretName }}
        {{- include "roundhouse.tlsMount" .root | nindent 8 }}
        {{- end }}
        {{- if $v.tls.workers.secretName }}
        {{- include "roundhouse.workerTlsMount" .root | nindent 8 }}
        {{- end }}
        {{- include "roundhouse.accessMounts" .root | nindent 8 }}
  volumes:
    - name: config
      configMap:
        name: {{ include "roundhouse.poolName" . }}
    {{- include "roundhouse.modelsVolume" .root | nindent 4 }}
    {{- if eq .pool.cache.type "emptyDir" }}
    - name: cache
      emptyDir:
        sizeLimit: {{ .pool.cache.size }}
    {{- else if eq .pool.cache.type "pvc" }}
    - name: cache
      persistentVolumeClaim:
        claimName: {{ .pool.cache.existingClaim }}
    {{- end }}
    - name: tmp
      emptyDir: {}
    {{- if .pool.shm.enabled }}
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: {{ .pool.shm.sizeLimit }}
    {{- end }}
    {{- if and $front $v.tls.secretName }}
    {{- include "roundhouse.tlsVolume" .root | nindent 4 }}
    {{- end }}
    {{- if $v.tls.workers.secretName }}
    {{- include "roundhouse.workerTlsVolume" .root | nindent 4 }}
    {{- end }}
    {{- include "roundhouse.accessVolumes" .root | nindent 4 }}
{{- end }}

{{- define "roundhouse.poolName" -}}
{{ include "roundhouse.fullname" .root }}-{{ include "roundhouse.pooled" .root }}-{{ .name }}
{{- end }}

{{- define "roundhouse.poolSelector" -}}
{{ include "roundhouse.selector" .root }}
app.kubernetes.io/component: {{ include "roundhouse.pooled" .root }}
roundhouse.dev/pool: {{ .name }}
{{- end }}

{{/* GPUs are among the limits, as extended resources must be: a pool */}}
{{- define "roundhouse.poolResources" -}}
{{- $resources := deepCopy .resources }}
{{- if .gpus }}
{{- $limits := default dict $resources.limits }}
{{- $_ := set $limits .gpuResource .gpus }}
{{- $_ := set $resources "limits" $limits }}
{{- end }}
{{- toYaml $resources }}
{{- end }}
