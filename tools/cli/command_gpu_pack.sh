# shellcheck shell=bash
# gpu-pack: one folder that measures a GPU wherever there is one.

GPU_PACK_LIMIT_MIB=60

# What Spring and the plugin's JVM need. java.desktop is there for its classes alone.
RUNTIME_MODULES=java.base,java.compiler,java.desktop,java.instrument,java.logging,java.management,java.naming,java.net.http
RUNTIME_MODULES+=,java.prefs,java.security.jgss,java.sql,java.xml,jdk.jfr,jdk.management,jdk.net,jdk.unsupported,jdk.zipfs
RUNTIME_LEFT_OUT='**/libawt*.so,**/libfontmanager.so,**/libfreetype.so,**/libmlib_image.so,**/liblcms.so,**/libjavajpeg.so'
RUNTIME_LEFT_OUT+=',**/libjsound.so,**/libsplashscreen.so'

usage_gpu_pack() {
    cat <<TXT
Usage: ./roundhouse gpu-pack --out DIR [--force]

Makes one folder, of at most $GPU_PACK_LIMIT_MIB MiB, that runs on a Linux machine with a CUDA PJRT plugin and nothing else: a Java
runtime, the worker, the JNI library, the sample models, the C++ floor. Copy it there and run ./gpu-check in it, which
prints and writes what the device does and how fast (docs/gpu-check.md).

  --out DIR   the folder to make
  --force     replace DIR if it is there
TXT
}

command_gpu_pack() {
    local out='' force=''
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_gpu_pack
                return
                ;;
            --out)
                (($# >= 2)) || misuse "--out needs a value" gpu-pack
                out=$2
                shift
                ;;
            --force) force=yes ;;
            *) misuse "gpu-pack does not know '$1'" gpu-pack ;;
        esac
        shift
    done
    [[ -n $out ]] || misuse "gpu-pack needs --out DIR" gpu-pack
    [[ -n $force || ! -e $out ]] || fail "$out is there already; name another folder, or replace it with --force"
    if [[ -n $force && -e $out && ! -e $out/programs.tar.xz && -n $(ls -A "$out") ]]; then
        fail "$out is no pack, and --force would delete it; name another folder"
    fi
    mkdir -p "$(dirname "$out")"
    out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")

    begin_steps 9
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_pack_built
    local stage=$ROOT/target/gpu-pack
    rm -rf "$stage"
    mkdir -p "$stage/programs" "$stage/pack"
    pack_step "Java runtime" link_runtime "$stage/programs"
    pack_step "programs and models" collect_programs "$stage/programs"
    pack_step "expected answers" record_answers "$stage/programs"
    pack_step "archive" archive_programs "$stage"
    begin_step "folder"
    finish_pack "$stage/pack" "$out"
    rm -rf "$stage"
}

# pack_step LABEL FUNCTION FOLDER
pack_step() {
    begin_step "$1"
    shift
    run_logged "$CACHE/logs/gpu-pack.log" "$@"
    end_step "made"
}

# Step: everything that a pack is made of is built, if a source changed.
ensure_pack_built() {
    local stamp
    begin_step "build device-check"
    stamp=$ROOT/target/run/gpu-pack-$(source_key)
    if [[ -e $stamp && -e $ROOT/device-check/target/lib && -e $(module_jar worker-service) ]]; then
        end_step "nothing changed"
        return
    fi
    rm -rf "$ROOT/device-check/target/lib" "$ROOT"/target/run/gpu-pack-*
    run_logged "$CACHE/logs/build-device-check.log" \
        maven -q -DskipTests -pl device-check,worker-service -am package
    mark_pack_built "$(source_key)"
    end_step "built"
}

link_runtime() {
    "$JAVA_HOME/bin/jlink" --add-modules "$RUNTIME_MODULES" --strip-debug --no-header-files --no-man-pages \
        --exclude-files "$RUNTIME_LEFT_OUT" --output "$1/runtime"
}

# The worker's own layout: its jar beside lib, which device-check shares.
collect_programs() {
    "$JAVA_HOME/bin/java" -Djarmode=tools -jar "$(module_jar worker-service)" extract --destination "$1/worker" || return
    mv "$1/worker/lib" "$1/lib" && mv "$1"/worker/*.jar "$1/worker.jar" && rmdir "$1/worker" || return
    cp -n "$ROOT"/device-check/target/lib/*.jar "$1/lib/" || return
    cp "$ROOT/device-check/target/device-check.jar" "$ROOT/measure/target/native/pjrt_floor" "$1/" || return
    strip "$1/pjrt_floor" || return
    cp -r "$ROOT/examples/models" "$1/models" || return
    python3 "$ROOT/tools/gpu-pack/store_jars.py" "$1"/*.jar "$1"/lib/*.jar
}

# By the runtime that goes into the pack, which is thereby tried.
record_answers() {
    "$1/runtime/bin/java" "${WORKER_OPTIONS[@]}" "-Droundhouse.pjrt.plugin=$PLUGIN_DIRECTORY/xla_cpu_pjrt.so" \
        -cp "$1/device-check.jar" dev.roundhouse.devicecheck.step.RecordSamples "$1/models" "$1/expected"
}

archive_programs() {
    local tar=(tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1/programs" -cf - .)
    if command -v xz >/dev/null; then
        "${tar[@]}" | xz -1 -T0 >"$1/pack/programs.tar.xz"
    else
        "${tar[@]}" | python3 -c 'import lzma, shutil, sys
with lzma.open(sys.argv[1], "w", preset=1) as out:
    shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)' "$1/pack/programs.tar.xz"
    fi
}

finish_pack() { # PACK OUT
    local bytes glibc
    cp "$ROOT/tools/gpu-pack/gpu-check" "$1/"
    glibc=$(ldd --version | sed -n '1s/.* //p')
    sed "s/@VERSION@/$(project_version)/; s/@DATE@/$(date -u +%F)/; s/@GLIBC@/$glibc/" \
        "$ROOT/tools/gpu-pack/README.md" >"$1/README.md"
    bytes=$(du -sb "$1" | cut -f1)
    if ((bytes > GPU_PACK_LIMIT_MIB * 1048576)); then
        printf 'FAILED\n' >&2
        fail "the pack has $bytes bytes, more than $GPU_PACK_LIMIT_MIB MiB; find what grew: tar -tvf $1/programs.tar.xz"
    fi
    rm -rf "$2.part"
    cp -r "$1" "$2.part"
    rm -rf "$2"
    mv "$2.part" "$2"
    end_step "$2, $((bytes / 1048576)) MiB"
}
