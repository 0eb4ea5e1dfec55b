# shellcheck shell=bash
# demo: a model at work, seen from a client.

# shellcheck source=tools/cli/exporter.sh
source "$CLI/exporter.sh"

usage_demo() {
    cat <<'TEXT'
Usage: ./roundhouse demo digits [--grpc-port N]
       ./roundhouse demo faces [PICTURE]
       ./roundhouse demo embed [TEXT...]
       ./roundhouse demo classify [FILE...]
       ./roundhouse demo read [PICTURE]
       ./roundhouse demo pde
       ./roundhouse demo stream [TEXT]
       ./roundhouse demo detect [PICTURE]
       ./roundhouse demo list

  digits   held-out images of handwritten digits as text, with predicted and true labels, latency and accuracy. Uses
           the server on the gRPC port (default 8001) if one answers there; otherwise starts one for itself on a free
           port and stops it at the end
  faces    faces found in a photograph, or in a PNG or JPEG of yours, drawn into a PNG, beside onnxruntime's
           (docs/demo-faces.md)
  embed    texts, or yours, and how alike they are, asked by OpenAI's client, beside what sentence-transformers makes of
           them (docs/demo-embed.md)
  classify files of this repository, or yours, and what kind they are, beside what magika's own package says
           (docs/demo-classify.md)
  read     lines of text read out of pictures, or out of a PNG or JPEG of yours, by a meta that calls two models, beside
           onnxruntime (docs/demo-read.md)
  pde      water in a basin, a step of time a request; the field stays on the device, the client throws stones and takes
           pictures; beside numpy (docs/demo-pde.md)
  stream   texts, or one that begins as yours, continued by a small decoder, each character printed when it comes; beside
           JAX (docs/demo-stream.md)
  detect   shapes found in pictures, or in a PNG or JPEG of yours, by a Faster R-CNN whose two halves a meta joins, beside
           torchvision (docs/demo-detect.md). PyTorch is downloaded the first time, 4 GB
  list     the names of the demos

All but digits make their bundle first, once, of weights that pip fetches or, for stream and detect, that are trained in
two minutes, and start a server of their own.
TEXT
}

command_demo() {
    local name='' port='' arguments=()
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_demo
                return
                ;;
            --grpc-port)
                (($# >= 2)) || misuse "--grpc-port needs a value" demo
                port=$2
                shift 2
                ;;
            -*) misuse "demo does not know '$1'" demo ;;
            *)
                if [[ -z $name ]]; then name=$1; else arguments+=("$1"); fi
                shift
                ;;
        esac
    done
    [[ -n $name ]] || misuse "demo needs a name; ./roundhouse demo list shows them" demo
    if [[ $name == list ]]; then
        list_demos
        return
    fi
    [[ -e $CLI/demo/$name.py ]] || misuse "there is no demo '$name'; ./roundhouse demo list shows them" demo
    if [[ -e $CLI/demo/$name/make.py ]]; then
        [[ -z $port ]] || misuse "demo $name starts a server of its own; --grpc-port is for digits" demo
        check_demo_arguments "$name" "${arguments[@]}"
        demo_of_made_bundle "$name" "${arguments[@]}"
    else
        ((${#arguments[@]} == 0)) || misuse "demo $name takes nothing more, and got '${arguments[0]}'" demo
        demo_of_samples "$name" "${port:-8001}"
    fi
}

# What is wrong is said before minutes of making.
check_demo_arguments() { # NAME ARGUMENTS...
    local name=$1 file
    shift
    [[ $name != pde ]] || (($# == 0)) || misuse "demo pde takes nothing more, and got '$1'" demo
    [[ $name != stream ]] || (($# <= 1)) || misuse "demo stream takes one text, got '$1' and '$2'" demo
    [[ $name != embed && $name != stream ]] || return 0
    [[ $name != faces && $name != read && $name != detect ]] || (($# <= 1)) || misuse "demo $name takes one picture, got '$1' and '$2'" demo
    for file in "$@"; do
        [[ -f $file && -r $file ]] || fail "demo $name: $file is no file that can be read"
    done
}

demo_of_samples() { # NAME PORT
    local port=$2
    check_port --grpc-port "$port" demo
    if port_in_use "$port"; then
        begin_steps 2
        ensure_tools
    else
        begin_steps 6
        prepare worker-service
    fi
    ensure_venv client "$CLI/demo/requirements.lock"
    if ! port_in_use "$port"; then
        start_private_worker "$ROOT/examples/models"
        port=$GRPC_PORT
    fi
    "$VENV/bin/python" "$CLI/demo/$1.py" --root "$ROOT" --port "$port"
}

demo_of_made_bundle() { # NAME ARGUMENTS...
    local name=$1 packages given=()
    shift
    (($# == 0)) || given=(-- "$@")
    packages=$CLI/demo/$name:$CLI/demo/bundles:$ROOT/tools/model-bench
    begin_steps 8
    prepare worker-service
    ensure_exporter "$(demo_source "$name")"
    ensure_demo_bundle "$name" "$packages"
    # the exporter and the stock client pin different versions
    ensure_venv "demo-$name" "$CLI/demo/$name/requirements.lock"
    start_private_worker "$DEMO_FOLDER/models"
    PYTHONPATH=$packages "$VENV/bin/python" "$CLI/demo/$name.py" --example "$ROOT/examples/$name" \
        --cache "$CACHE" --folder "$DEMO_FOLDER" --grpc-port "$GRPC_PORT" --http-port "$HTTP_PORT" \
        --metrics-port "$METRICS_PORT" --export-python "$EXPORT_PYTHON" "${given[@]}"
    printf 'serve it  ./roundhouse up --models %q\n' "$DEMO_FOLDER/models"
}

# The extra of the exporter that a demo's models need.
demo_source() { # NAME
    if [[ $1 == detect ]]; then echo torch; else echo onnx; fi
}

# Step: a folder of the cache with the bundle of a demo in models/; leaves it in DEMO_FOLDER.
ensure_demo_bundle() { # NAME PYTHON-PATH
    local made key
    key=$({ echo "${EXPORT_PYTHON#"$CACHE"}" && demo_sources "$1" | LC_ALL=C sort | xargs -d '\n' cat; } | sha256sum | cut -c1-12)
    DEMO_FOLDER=$CACHE/demo/$1-$key
    begin_step "bundle '$1'"
    if [[ -e $DEMO_FOLDER ]]; then
        end_step "found $DEMO_FOLDER"
        return
    fi
    mkdir -p "$CACHE/demo"
    find "$CACHE/demo" -maxdepth 1 -name '*.part' -mmin +60 -exec rm -rf {} + # what was broken off
    made=$CACHE/demo/$1-$$.part # whole before it has its name
    rm -rf "$made"
    mkdir "$made"
    PYTHONPATH=$2:$EXPORT_SOURCES run_logged "$CACHE/logs/demo-$1.log" \
        "$EXPORT_PYTHON" "$CLI/demo/$1/make.py" --example "$ROOT/examples/$1" --cache "$CACHE" --folder "$made" \
        --plugin "$PLUGIN_DIRECTORY/xla_cpu_pjrt.so"
    mv -T "$made" "$DEMO_FOLDER" 2>/dev/null || rm -rf "$made" # another may have been faster
    end_step "made $DEMO_FOLDER"
}

# The files that a bundle is made by.
demo_sources() { # NAME
    local folders=("$CLI/demo/$1" "$CLI/demo/bundles" "$ROOT/tools/model-bench" "$EXPORT_SOURCES")
    [[ ! -d $ROOT/examples/$1 ]] || folders+=("$ROOT/examples/$1") # a demo without Java has none
    find "${folders[@]}" -type f \( -name '*.py' -o -name '*.java' \)
}

# The first line of each demo's own description.
list_demos() {
    local file
    for file in "$CLI"/demo/*.py; do
        printf '%-10s %s\n' "$(basename "$file" .py)" "$(sed -n '1s/^"""\([^"]*\).*/\1/p' "$file")"
    done
}
