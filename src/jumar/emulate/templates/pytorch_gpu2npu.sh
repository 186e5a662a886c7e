#!/bin/sh
# The vendor's migration tool by the same name and options: runs `jumar migrate`. Written by `jumar emulate prefix`.
while [ $$# -gt 0 ]; do
    case "$$1" in
    -i | --input) input=$$2 ;;
    -o | --output) output=$$2 ;;
    -v | --version) version=$$2 ;;
    *)
        echo "pytorch_gpu2npu.sh: \`$$1\` is not emulated; use \`jumar migrate\`" >&2
        exit 2
        ;;
    esac
    shift 2
done
name=$$(basename "$$input")
set -- "$$input" -o "$$output/$${name}_msft" --csv "$$output/$${name}_msft" --force
exec '$python' -c 'import sys; sys.path[0] = "$packages"; from jumar.__main__ import main; sys.exit(main())' migrate "$$@"
