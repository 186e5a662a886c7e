import zipfile

NAME = "jumar_extra_of_a_test-1"
META = "Metadata-Version: 2.1\nName: jumar-extra-of-a-test\nVersion: 1\n"


def build_wheel(folder, *rest):
    with zipfile.ZipFile(f"{folder}/{NAME}-py3-none-any.whl", "w") as file:
        file.writestr("jumar_extra_of_a_test.py", "NAME = 'extra'\n")
        file.writestr(f"{NAME}.dist-info/METADATA", META)
        file.writestr(f"{NAME}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{NAME}.dist-info/RECORD", "")
    return f"{NAME}-py3-none-any.whl"
