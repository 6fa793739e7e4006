#!/bin/sh
# Runs a command where every user may pass through the folders of this interpreter, $1, although the
# home it is in is closed: a mount namespace in which the home has nothing else.
set -e
python=$1
shift
home=/$(echo "$python" | cut -d/ -f2)
top=$home/$(echo "$python" | cut -d/ -f3)
mount --bind "$top" /mnt
mount -t tmpfs -o mode=755 none "$home"
mkdir "$top"
mount --move /mnt "$top"
exec "$@"
