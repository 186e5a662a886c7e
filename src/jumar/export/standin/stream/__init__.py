"""The stream manager of the vendor's vision SDK for pictures: pipelines of elements, without a device or GStreamer."""
