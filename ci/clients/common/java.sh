#!/usr/bin/env bash
# Fetch a library of Java from Maven Central and compile its shim, for the `build` of a folder with a pom.xml:
#
#   ../common/java.sh DIRECTORY SOURCE...
#
# It needs Maven and a JDK 17 (Debian's maven and openjdk-17-jdk-headless).
set -euo pipefail
place="$1"
shift
for need in mvn javac jar; do
  command -v "$need" >/dev/null || { echo "$need not found; the Debian packages maven and openjdk-17-jdk-headless bring it." >&2; exit 1; }
done
mvn --quiet --batch-mode -Dstyle.color=never -DincludeScope=runtime dependency:copy-dependencies -DoutputDirectory="$place/lib"
javac --release 17 -nowarn -d "$place/classes" -cp "$place/lib/*" "$@"
jar --create --file "$place/shim.jar" -C "$place/classes" .
rm -r "$place/classes"
# With an archive of its classes a shim starts in half the time; it holds where they are, and is of this Java.
cat >"$place/settle" <<'END'
#!/bin/sh
/usr/bin/java -Xlog:disable -XX:ArchiveClassesAtExit=fresh.jsa -cp "$PWD/shim.jar:$PWD/lib/*" Preload && mv fresh.jsa shim.jsa
END
chmod +x "$place/settle"
