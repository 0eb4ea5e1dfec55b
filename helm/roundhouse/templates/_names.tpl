{{- define "roundhouse.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* 40 characters, so that a pool's name and a suffix fit behind it. */}}
{{- define "roundhouse.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* What clients' calls reach: gateways, or whole nodes. */}}
{{- define "roundhouse.front" -}}
{{- if eq .Values.layout "split" }}gateway{{ else }}node{{ end }}
{{- end }}

{{/* What pools run. */}}
{{- define "roundhouse.pooled" -}}
{{- if eq .Values.layout "split" }}worker{{ else }}node{{ end }}
{{- end }}

{{- define "roundhouse.selector" -}}
app.kubernetes.io/name: {{ include "roundhouse.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "roundhouse.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "roundhouse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of pods: without versions, so that a new chart alone replaces none. */}}
{{- define "roundhouse.podLabels" -}}
{{ include "roundhouse.selector" . }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "roundhouse.gatewayAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "roundhouse.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "roundhouse.poolAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- printf "%s-workers" (include "roundhouse.gatewayAccount" .) }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "roundhouse.workersService" -}}
{{ include "roundhouse.fullname" . }}-workers
{{- end }}

{{- define "roundhouse.modelsClaim" -}}
{{- default (printf "%s-models" (include "roundhouse.fullname" .)) .Values.models.pvc.existingClaim }}
{{- end }}

{{/* image: root, of (key of images), own (a pool's, or empty) */}}
{{- define "roundhouse.image" -}}
{{- $images := .root.Values.images }}
{{- $image := index $images .of }}
{{- $own := default dict .own }}
{{- $repository := default $image.repository $own.repository }}
{{- $digest := default $image.digest $own.digest }}
{{- $tag := default (default $images.tag $image.tag) $own.tag | default .root.Chart.AppVersion }}
{{- if $images.registry }}{{ trimSuffix "/" $images.registry }}/{{ end }}{{ $repository }}
{{- if $digest }}@{{ $digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{/* The pools as they are, with what each takes from pool: {NAME: {...}} as JSON. */}}
{{- define "roundhouse.pools" -}}
{{- $pools := dict }}
{{- range $name, $own := default (dict "default" dict) .Values.pools }}
{{- $_ := set $pools $name (mergeOverwrite (deepCopy $.Values.pool) (deepCopy $own)) }}
{{- end }}
{{- toJson $pools }}
{{- end }}

{{/* Workers in one pod: pool */}}
{{- define "roundhouse.workers" -}}
{{- if .pool.gpus }}{{ .pool.gpus }}{{ else }}{{ .pool.cpuWorkers }}{{ end }}
{{- end }}
